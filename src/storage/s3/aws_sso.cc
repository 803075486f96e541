// AWS IAM Identity Center: the token that `aws sso login` left in ~/.aws/sso/cache, for the credentials of a role.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "storage/auth/time_format.h"
#include "storage/auth/token_request.h"
#include "storage/integrity/checksum.h"
#include "storage/s3/aws_credentials.h"

namespace assay::storage {
namespace {

constexpr double kRefreshWindowSeconds = 15 * 60;

struct SsoSettings {
  std::string start_url;
  std::string region;
  std::string account_id;
  std::string role_name;
  std::string session;  // empty: the older form, without a session
};

Result<SsoSettings> ReadSettings(const AwsContext& context, const std::string& profile) {
  IniSection values = *context.config.FindProfile(profile);
  if (values.contains("sso_session")) {
    const auto session = context.config.sso_sessions.find(values["sso_session"]);
    if (session == context.config.sso_sessions.end()) {
      return Status::InvalidArgument("profile '" + profile + "' names the sso-session '" + values["sso_session"] +
                                     "', which does not exist");
    }
    for (const auto& [key, value] : session->second) {
      if (values.contains(key) && values[key] != value) {
        return Status::InvalidArgument("profile '" + profile + "' and its sso-session disagree on " + key);
      }
      values[key] = value;
    }
  }
  for (const char* key : {"sso_role_name", "sso_account_id", "sso_start_url", "sso_region"}) {
    if (!values.contains(key)) {
      return Status::InvalidArgument("profile '" + profile + "' uses single sign-on but has no " + key);
    }
  }
  return SsoSettings{values["sso_start_url"], values["sso_region"], values["sso_account_id"], values["sso_role_name"],
                     values["sso_session"]};
}

std::string CachePath(const AwsContext& context, const SsoSettings& settings) {
  const std::string& key = settings.session.empty() ? settings.start_url : settings.session;
  const Checksum name = ChecksumOf(ChecksumKind::kSha1, std::as_bytes(std::span(key)));
  return context.environment.Home() + "/.aws/sso/cache/" + name.Hex() + ".json";
}

std::string Endpoint(std::string_view service, std::string_view host, const AwsContext& context,
                     const SsoSettings& settings) {
  const std::string endpoint = AwsEndpoint(service, context.config, context.profile, context.environment);
  return endpoint.empty() ? fmt::format("https://{}.{}.amazonaws.com", host, settings.region) : endpoint;
}

bool IsText(const nlohmann::json& token, const char* name) {
  return token.contains(name) && token[name].is_string();
}

bool CanRefresh(const nlohmann::json& token, double now) {
  for (const char* name : {"refreshToken", "clientId", "clientSecret", "registrationExpiresAt"}) {
    if (!IsText(token, name)) {
      return false;
    }
  }
  return ParseIsoTime(token["registrationExpiresAt"].get<std::string>()).value_or(0) > now;
}

// A new token for an old one, written back where the aws command line looks for it.
Result<nlohmann::json> Refresh(const AwsContext& context, const SsoSettings& settings, nlohmann::json token) {
  const std::string body = DumpJson({{"grantType", "refresh_token"},
                                     {"clientId", token["clientId"]},
                                     {"clientSecret", token["clientSecret"]},
                                     {"refreshToken", token["refreshToken"]}});
  http::Request request;
  request.method = "POST";
  request.url = Endpoint("sso_oidc", "oidc", context, settings) + "/token";
  request.headers.Set("Content-Type", "application/json");
  request.body.push_back(std::as_bytes(std::span(body)));
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer,
                         FetchJson(context.environment, request, "a new single sign-on token"));
  ASSAY_ASSIGN_OR_RETURN(token["accessToken"], RequiredText(answer, "accessToken", "the new single sign-on token"));
  const double seconds =
      answer.contains("expiresIn") && answer["expiresIn"].is_number() ? answer["expiresIn"].get<double>() : 0;
  token["expiresAt"] = IsoTime(context.environment.now() + seconds);
  if (IsText(answer, "refreshToken")) {
    token["refreshToken"] = answer["refreshToken"];
  }
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(CachePath(context, settings), DumpJsonPretty(token)));
  return token;
}

Result<std::string> AccessToken(const AwsContext& context, const SsoSettings& settings) {
  const std::string login =
      settings.session.empty() ? "aws sso login" : "aws sso login --sso-session " + settings.session;
  const std::string path = CachePath(context, settings);
  if (!FileExists(path)) {
    return Status::PermissionDenied("nobody is signed on at " + settings.start_url + " (run `" + login + "`)");
  }
  ASSAY_ASSIGN_OR_RETURN(nlohmann::json token, ReadJsonFile(path));
  if (!token.is_object() || !IsText(token, "accessToken") || !IsText(token, "expiresAt")) {
    return Status::InvalidArgument(path + " holds no single sign-on token (run `" + login + "`)");
  }
  const double now = context.environment.now();
  const double expires = ParseIsoTime(token["expiresAt"].get<std::string>()).value_or(0);
  if (!settings.session.empty() && expires - now < kRefreshWindowSeconds && CanRefresh(token, now)) {
    Result<nlohmann::json> refreshed = Refresh(context, settings, token);
    if (refreshed.ok()) {
      return (*refreshed)["accessToken"].get<std::string>();
    }
    if (expires <= now) {
      return refreshed.status();
    }
  }
  if (expires <= now) {
    return Status::PermissionDenied("the single sign-on at " + settings.start_url + " has expired (run `" + login +
                                    "`)");
  }
  return token["accessToken"].get<std::string>();
}

Result<AwsCredentials> RoleCredentials(const AwsContext& context, const std::string& profile) {
  ASSAY_ASSIGN_OR_RETURN(const SsoSettings settings, ReadSettings(context, profile));
  ASSAY_ASSIGN_OR_RETURN(const std::string token, AccessToken(context, settings));
  http::Request request;
  request.url = fmt::format("{}/federation/credentials?role_name={}&account_id={}",
                            Endpoint("sso", "portal.sso", context, settings), http::PercentEncode(settings.role_name),
                            http::PercentEncode(settings.account_id));
  request.headers.Set("x-amz-sso_bearer_token", token);
  const std::string what = "credentials of role " + settings.role_name;
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer, FetchJson(context.environment, request, what));
  const auto found = answer.find("roleCredentials");
  if (found == answer.end() || !found->is_object()) {
    return Status::PermissionDenied(what + " lack 'roleCredentials'");
  }
  const nlohmann::json& role = *found;
  AwsCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.access_key_id, RequiredText(role, "accessKeyId", what));
  ASSAY_ASSIGN_OR_RETURN(credentials.secret_access_key, RequiredText(role, "secretAccessKey", what));
  ASSAY_ASSIGN_OR_RETURN(credentials.session_token, RequiredText(role, "sessionToken", what));
  if (role.contains("expiration") && role["expiration"].is_number()) {
    credentials.expires = role["expiration"].get<double>() / 1000;
  }
  credentials.source = "single sign-on of profile " + profile;
  return credentials;
}

}  // namespace

AwsAnswer FromSso(const AwsContext& context, const std::string& profile) {
  const IniSection* section = context.config.FindProfile(profile);
  if (section == nullptr || (!section->contains("sso_role_name") && !section->contains("sso_account_id"))) {
    return NotConfigured{"profile '" + profile + "' has no sso_account_id and sso_role_name"};
  }
  return ToAnswer(RoleCredentials(context, profile));
}

}  // namespace assay::storage
