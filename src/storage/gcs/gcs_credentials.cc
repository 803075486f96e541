#include "storage/gcs/gcs_credentials.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "storage/auth/jwt.h"
#include "storage/auth/token_request.h"
#include "storage/gcs/gcs_oauth.h"

namespace assay::storage {
namespace {

constexpr char kTokenUri[] = "https://oauth2.googleapis.com/token";
constexpr char kJwtGrant[] = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr double kAssertionSeconds = 3600;
constexpr std::string_view kAdvice =
    "run `gcloud auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS, or go anonymous";

Result<ServiceAccount> ReadServiceAccount(const nlohmann::json& json, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(std::string email, RequiredText(json, "client_email", path));
  ASSAY_ASSIGN_OR_RETURN(const std::string pem, RequiredText(json, "private_key", path));
  ASSAY_ASSIGN_OR_RETURN(RsaKey key, RsaKey::FromPrivatePem(pem, "", path));
  return ServiceAccount{std::move(email), OptionalText(json, "private_key_id"), std::move(key),
                        OptionalText(json, "token_uri", kTokenUri)};
}

Result<GcsCredentials> TokenOfServiceAccount(const Environment& environment, const nlohmann::json& json,
                                             const std::string& path, const char* scope) {
  ASSAY_ASSIGN_OR_RETURN(ServiceAccount account, ReadServiceAccount(json, path));
  const auto now = static_cast<int64_t>(environment.now());
  nlohmann::json header = {{"typ", "JWT"}, {"alg", "RS256"}};
  if (!account.key_id.empty()) {
    header["kid"] = account.key_id;
  }
  // The audience is Google's own endpoint even where the key file names another to ask, as google-auth has it.
  const nlohmann::json claims = {{"iss", account.email},
                                 {"aud", kTokenUri},
                                 {"scope", scope},
                                 {"iat", now},
                                 {"exp", now + static_cast<int64_t>(kAssertionSeconds)}};
  ASSAY_ASSIGN_OR_RETURN(const std::string assertion, MakeJwt(header, claims, account.key));
  const std::string what = "a token of service account " + account.email;
  ASSAY_ASSIGN_OR_RETURN(
      const nlohmann::json answer,
      PostForm(environment, account.token_uri, {{"grant_type", kJwtGrant}, {"assertion", assertion}}, what));
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials, ReadTokenAnswer(answer, environment.now(), what));
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
                         PostForm(environment, OptionalText(json, "token_uri", kTokenUri), fields, what));
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials, ReadTokenAnswer(answer, environment.now(), what));
  credentials.source = "user of " + path;
  return credentials;
}

Result<GcsCredentials> TokenOfMetadata(const Environment& environment, const std::string& host) {
  http::Request request;
  request.url = fmt::format("http://{}/computeMetadata/v1/instance/service-accounts/default/token?scopes={}", host,
                            http::PercentEncode(kStorageScope));
  request.headers.Set("Metadata-Flavor", "Google");
  constexpr std::string_view kWhat = "a token of the machine's service account";
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer, FetchJson(environment, request, kWhat));
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials, ReadTokenAnswer(answer, environment.now(), kWhat));
  credentials.source = "metadata server " + host;
  return credentials;
}

Result<GcsCredentials> TokenOfImpersonated(const Environment& environment, const nlohmann::json& json,
                                           const std::string& path) {
  const auto source = json.find("source_credentials");
  if (source == json.end() || !source->is_object()) {
    return Status::PermissionDenied(path + " lacks 'source_credentials'");
  }
  const std::string type = OptionalText(*source, "type");
  if (type != "service_account" && type != "authorized_user") {
    return Status::Unsupported(
        fmt::format("{} impersonates with credentials of type '{}' (service_account and authorized_user are supported)",
                    path, type));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string url, RequiredText(json, "service_account_impersonation_url", path));
  ASSAY_ASSIGN_OR_RETURN(const GcsCredentials own, type == "service_account"
                                                       ? TokenOfServiceAccount(environment, *source, path, kIamScope)
                                                       : TokenOfUser(environment, *source, path));
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials,
                         ImpersonateServiceAccount(environment, url, own.access_token, json));
  credentials.source += ", impersonated by the " + own.source;
  return credentials;
}

Result<GcsCredentials> TokenOfJson(const Environment& environment, const nlohmann::json& json,
                                   const std::string& path) {
  const std::string type = OptionalText(json, "type");
  if (type == "service_account") {
    return TokenOfServiceAccount(environment, json, path, kStorageScope);
  }
  if (type == "authorized_user") {
    return TokenOfUser(environment, json, path);
  }
  if (type == "external_account") {
    return TokenOfExternalAccount(environment, json, path);
  }
  if (type == "impersonated_service_account") {
    return TokenOfImpersonated(environment, json, path);
  }
  return Status::Unsupported(
      fmt::format("{} holds credentials of type '{}' (service_account, authorized_user, external_account and "
                  "impersonated_service_account are supported)",
                  path, type));
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
  Result<GcsCredentials> credentials = TokenOfJson(environment, json, path);
  if (credentials.ok()) {
    credentials->quota_project =
        environment.variable("GOOGLE_CLOUD_QUOTA_PROJECT").value_or(OptionalText(json, "quota_project_id"));
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
