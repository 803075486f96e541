// AWS Security Token Service: AssumeRole and AssumeRoleWithWebIdentity.
#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "base/files.h"
#include "base/text.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/time_format.h"
#include "storage/auth/token_request.h"
#include "storage/s3/aws_credentials.h"

namespace assay::storage {
namespace {

std::string StsRegion(const AwsContext& context) {
  return context.region.empty() ? "us-east-1" : context.region;
}

std::string StsUrl(const AwsContext& context) {
  const std::string endpoint = AwsEndpoint("sts", context.config, context.profile, context.environment);
  if (!endpoint.empty()) {
    return endpoint.ends_with('/') ? endpoint : endpoint + "/";
  }
  const bool china = StsRegion(context).starts_with("cn-");
  return fmt::format("https://sts.{}.amazonaws.com{}/", StsRegion(context), china ? ".cn" : "");
}

std::string SessionName(const AwsContext& context, const std::optional<std::string>& configured) {
  return configured.value_or(fmt::format("assay-{}", static_cast<int64_t>(context.environment.now())));
}

std::string ErrorOf(const pugi::xml_document& document) {
  const pugi::xml_node error = document.select_node("//Error").node();
  const std::string code = error.child_value("Code");
  return code.empty() ? "" : fmt::format(": {}, {}", code, error.child_value("Message"));
}

// Sends `fields` to STS, signed by `signer` unless that is null.
Result<AwsCredentials> CallSts(const AwsContext& context, const FormFields& fields, const AwsCredentials* signer,
                               std::string_view what) {
  const std::string form = EncodeForm(fields);
  http::Request request;
  request.method = "POST";
  request.url = StsUrl(context);
  request.headers.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8");
  request.body.push_back(std::as_bytes(std::span(form)));
  if (signer != nullptr) {
    const std::string timestamp = SigV4Timestamp(context.environment.now());
    SigV4Key key{signer->access_key_id, signer->session_token, {timestamp.substr(0, 8), StsRegion(context), "sts"}, {}};
    key.signing_key = SigningKey(kAws4Hmac, signer->secret_access_key, key.scope);
    if (!SignHeaders(kAws4Hmac, key, timestamp, Hex(Sha256(form)), request)) {
      return Status::InvalidArgument("the endpoint of STS is no http or https URL (check AWS_ENDPOINT_URL_STS)");
    }
  }
  Result<http::Response> response = context.environment.fetch(request);
  if (!response.ok()) {
    return response.status().WithContext(fmt::format("cannot ask STS for {}", what));
  }
  pugi::xml_document document;
  document.load_buffer(response->body.data(), response->body.size());
  if (response->status != 200) {
    return Status::PermissionDenied(
        fmt::format("STS refused {} with HTTP status {}{}", what, response->status, ErrorOf(document)));
  }
  const pugi::xml_node node = document.select_node("//Credentials").node();
  AwsCredentials credentials{.access_key_id = node.child_value("AccessKeyId"),
                             .secret_access_key = node.child_value("SecretAccessKey"),
                             .session_token = node.child_value("SessionToken"),
                             .expires = ParseIsoTime(node.child_value("Expiration")).value_or(0),
                             .source = std::string(what)};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty() || credentials.expires == 0) {
    return Status::PermissionDenied(fmt::format("the answer of STS holds no credentials for {}", what));
  }
  return credentials;
}

// Follows a profile's role_arn to the credentials that may assume it, and back.
class RoleResolver {
 public:
  explicit RoleResolver(const AwsContext& context) : context_(context), visited_({context.profile}) {}

  Result<AwsCredentials> Assume(const std::string& profile) {
    const auto setting = [&](const char* key) { return context_.config.Find(profile, key); };
    if (setting("mfa_serial")) {
      return Status::Unsupported("profile '" + profile +
                                 "' wants a code of a second factor (mfa_serial): get session credentials with the aws "
                                 "command line first");
    }
    ASSAY_ASSIGN_OR_RETURN(const AwsCredentials signer, SourceOf(profile));
    const std::string role = setting("role_arn").value_or("");
    FormFields fields = {{"Action", "AssumeRole"},
                         {"Version", "2011-06-15"},
                         {"RoleArn", role},
                         {"RoleSessionName", SessionName(context_, setting("role_session_name"))}};
    if (const auto id = setting("external_id")) {
      fields.emplace_back("ExternalId", *id);
    }
    if (const auto seconds = setting("duration_seconds")) {
      fields.emplace_back("DurationSeconds", *seconds);
    }
    return CallSts(context_, fields, &signer, "role " + role);
  }

 private:
  Result<AwsCredentials> SourceOf(const std::string& profile) {
    const std::optional<std::string> source_profile = context_.config.Find(profile, "source_profile");
    const std::optional<std::string> credential_source = context_.config.Find(profile, "credential_source");
    if (source_profile.has_value() == credential_source.has_value()) {
      return Status::InvalidArgument("profile '" + profile +
                                     "' has a role_arn, which needs either source_profile or credential_source");
    }
    return source_profile ? FromSourceProfile(profile, *source_profile) : FromNamedSource(*credential_source);
  }

  Result<AwsCredentials> FromSourceProfile(const std::string& parent, const std::string& profile) {
    const IniSection* section = context_.config.FindProfile(profile);
    if (section == nullptr) {
      return Status::InvalidArgument("the source_profile '" + profile + "' of profile '" + parent + "' does not exist");
    }
    const bool has_keys = section->contains("aws_access_key_id") || section->contains("aws_secret_access_key");
    const bool seen = std::find(visited_.begin(), visited_.end(), profile) != visited_.end();
    if (seen && (profile != parent || !has_keys)) {
      return Status::InvalidArgument("the source_profile of profile '" + parent + "' leads back to '" + profile +
                                     "' (break the circle)");
    }
    visited_.push_back(profile);
    if (!has_keys && section->contains("role_arn") && !section->contains("web_identity_token_file")) {
      return Assume(profile);
    }
    return LoadFromChain(ProfileSources(context_, profile, /*use_environment=*/false),
                         "the source profile '" + profile + "' must have credentials");
  }

  Result<AwsCredentials> FromNamedSource(const std::string& source) {
    AwsContext unnamed = context_;
    unnamed.profile_named = false;
    const std::vector<std::pair<std::string, AwsAnswer (*)(const AwsContext&)>> known = {
        {"Environment", &FromEnvironment},
        {"EcsContainer", &FromContainer},
        {"Ec2InstanceMetadata", &FromInstanceMetadata}};
    for (const auto& [name, load] : known) {
      if (name == source) {
        return LoadFromChain<AwsCredentials>({{source, [&] { return load(unnamed); }}},
                                             "credential_source names a source without credentials");
      }
    }
    return Status::InvalidArgument("unknown credential_source '" + source +
                                   "' (known are Environment, EcsContainer and Ec2InstanceMetadata)");
  }

  const AwsContext& context_;
  std::vector<std::string> visited_;
};

}  // namespace

AwsAnswer FromAssumeRole(const AwsContext& context) {
  const IniSection* section = context.config.FindProfile(context.profile);
  if (section == nullptr || !section->contains("role_arn") || section->contains("web_identity_token_file")) {
    return NotConfigured{"profile '" + context.profile + "' has no role_arn"};
  }
  return ToAnswer(RoleResolver(context).Assume(context.profile));
}

AwsAnswer FromWebIdentity(const AwsContext& context, const std::string& profile, bool use_environment) {
  const auto setting = [&](const char* variable, const char* key) {
    const auto value = use_environment ? context.environment.variable(variable) : std::nullopt;
    return value ? value : context.config.Find(profile, key);
  };
  const std::optional<std::string> path = setting("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
  if (!path) {
    return NotConfigured{"AWS_WEB_IDENTITY_TOKEN_FILE is not set"};
  }
  const std::optional<std::string> role = setting("AWS_ROLE_ARN", "role_arn");
  if (!role) {
    return Status::InvalidArgument("a web identity token file is configured without a role (set AWS_ROLE_ARN)");
  }
  const Result<std::string> token = ReadFile(context.environment.ExpandUser(*path));
  if (!token.ok()) {
    return token.status();
  }
  const FormFields fields = {
      {"Action", "AssumeRoleWithWebIdentity"},
      {"Version", "2011-06-15"},
      {"RoleArn", *role},
      {"RoleSessionName", SessionName(context, setting("AWS_ROLE_SESSION_NAME", "role_session_name"))},
      {"WebIdentityToken", *token}};
  return ToAnswer(CallSts(context, fields, nullptr, "role " + *role + " by web identity"));
}

}  // namespace assay::storage
