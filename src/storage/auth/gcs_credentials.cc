#include "storage/auth/gcs_credentials.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "storage/auth/jwt.h"
#include "storage/auth/token_request.h"

namespace assay::storage {
namespace {

constexpr char kScope[] = "https://www.googleapis.com/auth/devstorage.full_control";
constexpr char kTokenUri[] = "https://oauth2.googleapis.com/token";
constexpr char kJwtGrant[] = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr double kAssertionSeconds = 3600;
constexpr std::string_view kAdvice =
    "run `gcloud auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS, or go anonymous";

std::string Text(const nlohmann::json& json, const char* name, std::string_view otherwise = "") {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : std::string(otherwise);
}

Result<GcsCredentials> ReadToken(const nlohmann::json& answer, double now, std::string_view what) {
  GcsCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.access_token, RequiredText(answer, "access_token", what));
  const bool lasts = answer.contains("expires_in") && answer["expires_in"].is_number();
  credentials.expires = now + (lasts ? answer["expires_in"].get<double>() : kAssertionSeconds);
  return credentials;
}

Result<ServiceAccount> ReadServiceAccount(const nlohmann::json& json, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(std::string email, RequiredText(json, "client_email", path));
  ASSAY_ASSIGN_OR_RETURN(const std::string pem, RequiredText(json, "private_key", path));
  ASSAY_ASSIGN_OR_RETURN(RsaKey key, RsaKey::FromPrivatePem(pem, "", path));
  return ServiceAccount{std::move(email), Text(json, "private_key_id"), std::move(key),
                        Text(json, "token_uri", kTokenUri)};
}

Result<GcsCredentials> TokenOfServiceAccount(const Environment& environment, const nlohmann::json& json,
                                             const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(ServiceAccount account, ReadServiceAccount(json, path));
  const auto now = static_cast<int64_t>(environment.now());
  nlohmann::json header = {{"typ", "JWT"}, {"alg", "RS256"}};
  if (!account.key_id.empty()) {
    header["kid"] = account.key_id;
  }
  // The audience is Google's own endpoint even where the key file names another to ask, as google-auth has it.
  const nlohmann::json claims = {{"iss", account.email},
                                 {"aud", kTokenUri},
                                 {"scope", kScope},
                                 {"iat", now},
                                 {"exp", now + static_cast<int64_t>(kAssertionSeconds)}};
  ASSAY_ASSIGN_OR_RETURN(const std::string assertion, MakeJwt(header, claims, account.key));
  const std::string what = "a token of service account " + account.email;
  ASSAY_ASSIGN_OR_RETURN(
      const nlohmann::json answer,
      PostForm(environment, account.token_uri, {{"grant_type", kJwtGrant}, {"assertion", assertion}}, what));
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials, ReadToken(answer, environment.now(), what));
  credentials.source = fmt::format("service account {} of {}", account.email, path);
  credentials.service_account = std::move(account);
  return credentials;
}

Result<GcsCredentials> TokenOfUser(const Environment& environment, const nlohmann::json& json,
                                   const std::string& path) {
  FormFields fields = {{"grant_type", "refresh_token"}};
  for (const char* name : {"client_id", "client_secret", "refresh_token"}) {
    ASSAY_ASSIGN_OR_RETURN(std::string value, RequiredText(json, name, path));
    fields.emplace_back(name, std::move(value));
  }
  const std::string what = "a token of the user of " + path;
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer,
                         PostForm(environment, Text(json, "token_uri", kTokenUri), fields, what));
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials, ReadToken(answer, environment.now(), what));
  credentials.source = "user of " + path;
  return credentials;
}

Result<GcsCredentials> TokenOfMetadata(const Environment& environment, const std::string& host) {
  http::Request request;
  request.url = fmt::format("http://{}/computeMetadata/v1/instance/service-accounts/default/token?scopes={}", host,
                            http::PercentEncode(kScope));
  request.headers.Set("Metadata-Flavor", "Google");
  constexpr std::string_view kWhat = "a token of the machine's service account";
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer, FetchJson(environment, request, kWhat));
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials, ReadToken(answer, environment.now(), kWhat));
  credentials.source = "metadata server " + host;
  return credentials;
}

std::string GcloudFile(const Environment& environment) {
  const auto folder = environment.variable("CLOUDSDK_CONFIG");
  return folder.value_or(environment.Home() + "/.config/gcloud") + "/application_default_credentials.json";
}

}  // namespace

Result<GcsCredentials> TokenOfFile(const Environment& environment, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string content, ReadFile(path));
  const nlohmann::json json = nlohmann::json::parse(content, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Status::InvalidArgument(path + " holds no JSON object, so no Google credentials");
  }
  const std::string type = Text(json, "type");
  Result<GcsCredentials> credentials =
      type == "service_account" ? TokenOfServiceAccount(environment, json, path)
      : type == "authorized_user"
          ? TokenOfUser(environment, json, path)
          : Result<GcsCredentials>(Status::Unsupported(fmt::format(
                "{} holds credentials of type '{}' (service_account and authorized_user are supported)", path, type)));
  if (credentials.ok()) {
    credentials->quota_project =
        environment.variable("GOOGLE_CLOUD_QUOTA_PROJECT").value_or(Text(json, "quota_project_id"));
  }
  return credentials;
}

GcsAnswer FromGoogleMetadata(const Environment& environment) {
  if (environment.variable("NO_GCE_CHECK") == "true") {
    return NotConfigured{"switched off by NO_GCE_CHECK"};
  }
  const auto host = environment.variable("GCE_METADATA_HOST");
  Result<GcsCredentials> credentials = TokenOfMetadata(environment, host.value_or("metadata.google.internal"));
  if (!credentials.ok()) {
    return NotConfigured{credentials.status().message()};
  }
  return std::move(credentials).value();
}

Result<GcsCredentials> LoadGcsCredentials(const Environment& environment) {
  const auto named_file = [&]() -> GcsAnswer {
    const auto path = environment.variable("GOOGLE_APPLICATION_CREDENTIALS");
    return path ? ToAnswer(TokenOfFile(environment, *path))
                : NotConfigured{"GOOGLE_APPLICATION_CREDENTIALS is not set"};
  };
  const auto gcloud_file = [&]() -> GcsAnswer {
    const std::string path = GcloudFile(environment);
    return FileExists(path) ? ToAnswer(TokenOfFile(environment, path)) : NotConfigured{"there is no " + path};
  };
  return LoadFromChain<GcsCredentials>({{"environment", named_file},
                                        {"gcloud", gcloud_file},
                                        {"metadata server", [&] { return FromGoogleMetadata(environment); }}},
                                       kAdvice);
}

}  // namespace assay::storage
