// External accounts: tokens of other identity providers exchanged for Google's.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/auth/token_request.h"
#include "storage/gcs/gcs_oauth.h"
#include "storage/gcs/gcs_subject_token.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

constexpr char kExchangeGrant[] = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr char kAccessTokenType[] = "urn:ietf:params:oauth:token-type:access_token";
constexpr char kStsUrl[] = "https://sts.googleapis.com/v1/token";

Result<std::string> ReadSource(const Environment& environment, const nlohmann::json& source, const std::string& path) {
  if (const std::string file = OptionalText(source, "file"); !file.empty()) {
    return ReadFile(file);
  }
  http::Request request;
  request.url = OptionalText(source, "url");
  if (request.url.empty()) {
    return Status::Unsupported(path + " takes its token from neither a file nor a URL, an executable or AWS");
  }
  if (const auto headers = source.find("headers"); headers != source.end() && headers->is_object()) {
    for (const auto& [name, value] : headers->items()) {
      request.headers.Set(name, value.is_string() ? value.get<std::string>() : "");
    }
  }
  return FetchText(environment, request, "the subject token of " + path);
}

// The token that the other provider gave out; out of a file or from a URL it is the whole text, or a field of an object
// of JSON.
Result<std::string> SubjectToken(const Environment& environment, const nlohmann::json& json, const std::string& path) {
  const auto source = json.find("credential_source");
  if (source == json.end() || !source->is_object()) {
    return Status::PermissionDenied(path + " lacks 'credential_source'");
  }
  if (source->contains("environment_id")) {
    return AwsSubjectToken(environment, json, path);
  }
  if (const auto program = source->find("executable"); program != source->end() && program->is_object()) {
    return ExecutableSubjectToken(environment, json, path);
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string content, ReadSource(environment, *source, path));
  const auto format = source->find("format");
  const bool in_json =
      format != source->end() && format->is_object() && OptionalText(*format, "type", "text") == "json";
  if (!in_json) {
    const std::string token(Trim(content));
    return token.empty() ? Result<std::string>(Status::PermissionDenied("the subject token of " + path + " is empty"))
                         : token;
  }
  const std::string field = OptionalText(*format, "subject_token_field_name");
  const nlohmann::json holder = nlohmann::json::parse(content, nullptr, /*allow_exceptions=*/false);
  const std::string token = holder.is_object() ? OptionalText(holder, field.c_str()) : "";
  if (token.empty()) {
    return Status::PermissionDenied(
        fmt::format("the source of the subject token of {} holds no text '{}' in JSON", path, field));
  }
  return token;
}

Result<GcsCredentials> Exchange(const Environment& environment, const nlohmann::json& json, const std::string& path,
                                const char* scope) {
  ASSAY_ASSIGN_OR_RETURN(const std::string audience, RequiredText(json, "audience", path));
  ASSAY_ASSIGN_OR_RETURN(const std::string type, RequiredText(json, "subject_token_type", path));
  ASSAY_ASSIGN_OR_RETURN(const std::string subject, SubjectToken(environment, json, path));
  FormFields fields = {{"grant_type", kExchangeGrant},
                       {"audience", audience},
                       {"scope", scope},
                       {"requested_token_type", kAccessTokenType},
                       {"subject_token", subject},
                       {"subject_token_type", type}};
  const std::string client = OptionalText(json, "client_id");
  const std::string project = OptionalText(json, "workforce_pool_user_project");
  if (!project.empty() && client.empty()) {
    fields.emplace_back("options", http::PercentEncode(DumpJson({{"userProject", project}})));
  }
  const std::string form = EncodeForm(fields);
  http::Request request;
  request.method = "POST";
  request.url = OptionalText(json, "token_url", kStsUrl);
  request.headers.Set("Content-Type", "application/x-www-form-urlencoded");
  if (!client.empty()) {
    request.headers.Set("Authorization", "Basic " + Base64Encode(client + ":" + OptionalText(json, "client_secret")));
  }
  request.body.push_back(std::as_bytes(std::span(form)));
  const std::string what = "a token of the external account of " + path;
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer, FetchJson(environment, request, what));
  return ReadTokenAnswer(answer, environment.now(), what);
}

}  // namespace

Result<GcsCredentials> TokenOfExternalAccount(const Environment& environment, const nlohmann::json& json,
                                              const std::string& path) {
  const std::string account = OptionalText(json, "service_account_impersonation_url");
  ASSAY_ASSIGN_OR_RETURN(GcsCredentials credentials,
                         Exchange(environment, json, path, account.empty() ? kStorageScope : kIamScope));
  if (account.empty()) {
    credentials.source = "external account of " + path;
    return credentials;
  }
  const auto options = json.find("service_account_impersonation");
  ASSAY_ASSIGN_OR_RETURN(
      GcsCredentials impersonated,
      ImpersonateServiceAccount(environment, account, credentials.access_token,
                                options != json.end() && options->is_object() ? *options : nlohmann::json::object()));
  impersonated.source += " by the external account of " + path;
  return impersonated;
}

}  // namespace assay::storage
