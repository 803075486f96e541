#include "storage/s3/aws_credentials.h"

#include <nlohmann/json.hpp>

#include "storage/auth/time_format.h"
#include "storage/auth/token_request.h"

namespace assay::storage {
namespace {

constexpr std::string_view kAdvice =
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws configure`, choose a profile, or go anonymous";

// The keys of one section of one file.
AwsAnswer FromSection(const IniFile& file, const std::string& path, const std::string& profile) {
  const auto section = file.find(profile);
  if (section == file.end()) {
    return NotConfigured{"no profile '" + profile + "' in " + path};
  }
  const IniSection& keys = section->second;
  const auto value = [&keys](const char* key) {
    const auto found = keys.find(key);
    return found != keys.end() ? found->second : std::string();
  };
  if (!keys.contains("aws_access_key_id")) {
    return NotConfigured{"profile '" + profile + "' of " + path + " has no aws_access_key_id"};
  }
  if (!keys.contains("aws_secret_access_key")) {
    return Status::InvalidArgument("profile '" + profile + "' of " + path +
                                   " has an aws_access_key_id without aws_secret_access_key (add it)");
  }
  const std::string old_token = value("aws_security_token");
  return AwsCredentials{.access_key_id = value("aws_access_key_id"),
                        .secret_access_key = value("aws_secret_access_key"),
                        .session_token = old_token.empty() ? value("aws_session_token") : old_token,
                        .expires = 0,
                        .source = "profile " + profile + " of " + path};
}

}  // namespace

Result<AwsCredentials> ReadAwsCredentials(const nlohmann::json& json, const char* token_name, std::string_view what) {
  AwsCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.access_key_id, RequiredText(json, "AccessKeyId", what));
  ASSAY_ASSIGN_OR_RETURN(credentials.secret_access_key, RequiredText(json, "SecretAccessKey", what));
  if (json.contains(token_name) && json[token_name].is_string()) {
    credentials.session_token = json[token_name].get<std::string>();
  }
  if (json.contains("Expiration") && json["Expiration"].is_string()) {
    const std::optional<double> expires = ParseIsoTime(json["Expiration"].get<std::string>());
    if (!expires) {
      return Status::PermissionDenied(std::string(what) + " has an Expiration that is no ISO 8601 time");
    }
    credentials.expires = *expires;
  }
  return credentials;
}

AwsAnswer FromEnvironment(const AwsContext& context) {
  const auto& variable = context.environment.variable;
  const std::optional<std::string> access_key_id = variable("AWS_ACCESS_KEY_ID");
  if (context.profile_named) {
    return NotConfigured{"not asked, as a profile was chosen"};
  }
  if (!access_key_id) {
    return NotConfigured{"AWS_ACCESS_KEY_ID is not set"};
  }
  const std::optional<std::string> secret = variable("AWS_SECRET_ACCESS_KEY");
  if (!secret) {
    return Status::InvalidArgument("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY (set both or neither)");
  }
  AwsCredentials credentials{.access_key_id = *access_key_id,
                             .secret_access_key = *secret,
                             .session_token = variable("AWS_SECURITY_TOKEN").value_or(""),
                             .expires = 0,
                             .source = "environment variable AWS_ACCESS_KEY_ID"};
  if (credentials.session_token.empty()) {
    credentials.session_token = variable("AWS_SESSION_TOKEN").value_or("");
  }
  if (const std::optional<std::string> expiration = variable("AWS_CREDENTIAL_EXPIRATION")) {
    credentials.expires = ParseIsoTime(*expiration).value_or(0);
  }
  return credentials;
}

std::vector<CredentialSource<AwsCredentials>> ProfileSources(const AwsContext& context, const std::string& profile,
                                                             bool use_environment) {
  const AwsConfig& config = context.config;
  return {
      {"web identity", [=, &context] { return FromWebIdentity(context, profile, use_environment); }},
      {"single sign-on", [=, &context] { return FromSso(context, profile); }},
      {"credentials file", [=, &config] { return FromSection(config.credentials, config.credentials_path, profile); }},
      {"credential process", [=, &context] { return FromProcess(context, profile); }},
      {"config file", [=, &config] { return FromSection(config.config, config.config_path, profile); }},
  };
}

Result<AwsCredentials> LoadAwsCredentials(const StoreOptions& options, const Environment& environment) {
  AwsContext context;
  context.environment = environment;
  context.profile = AwsProfileName(options, environment);
  context.profile_named = !options.profile.empty();
  ASSAY_ASSIGN_OR_RETURN(context.config, LoadAwsConfig(environment));
  const bool must_exist = context.profile_named || environment.variable("AWS_PROFILE").has_value();
  if (must_exist && context.profile != "default" && context.config.FindProfile(context.profile) == nullptr) {
    return Status::NotFound("there is no AWS profile '" + context.profile + "' in " + context.config.config_path +
                            " or " + context.config.credentials_path + " (check --profile and AWS_PROFILE)");
  }
  context.region = options.region.empty() ? AwsRegion(context.config, context.profile, environment) : options.region;
  std::vector<CredentialSource<AwsCredentials>> chain = {
      {"environment", [&] { return FromEnvironment(context); }},
      {"assumed role", [&] { return FromAssumeRole(context); }},
  };
  for (auto& source : ProfileSources(context, context.profile, !context.profile_named)) {
    chain.push_back(std::move(source));
  }
  chain.push_back({"container", [&] { return FromContainer(context); }});
  chain.push_back({"instance metadata", [&] { return FromInstanceMetadata(context); }});
  return LoadFromChain(chain, kAdvice);
}

}  // namespace assay::storage
