#include "storage/gcs/gcs_oauth.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "base/json.h"
#include "storage/auth/time_format.h"
#include "storage/auth/token_request.h"

namespace assay::storage {
namespace {

constexpr int64_t kLifetimeSeconds = 3600;

// "EMAIL" of ".../serviceAccounts/EMAIL:generateAccessToken"; empty for another URL.
std::string PrincipalOf(const std::string& url) {
  const size_t end = url.find(":generateAccessToken");
  const size_t slash = url.rfind('/', end);
  return end == std::string::npos || slash == std::string::npos ? "" : url.substr(slash + 1, end - slash - 1);
}

// Some services write numbers as text.
int64_t SecondsOf(const nlohmann::json& json, const char* name, int64_t otherwise) {
  const auto found = json.find(name);
  if (found == json.end()) {
    return otherwise;
  }
  if (found->is_string()) {
    const int64_t seconds = std::strtoll(found->get_ref<const std::string&>().c_str(), nullptr, 10);
    return seconds > 0 ? seconds : otherwise;
  }
  return found->is_number() ? found->get<int64_t>() : otherwise;
}

}  // namespace

std::string OptionalText(const nlohmann::json& json, const char* name, std::string_view otherwise) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string(otherwise);
}

Result<GcsCredentials> ReadTokenAnswer(const nlohmann::json& answer, double now, std::string_view what) {
  GcsCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.access_token, RequiredText(answer, "access_token", what));
  credentials.expires = now + static_cast<double>(SecondsOf(answer, "expires_in", kLifetimeSeconds));
  return credentials;
}

Result<GcsCredentials> ImpersonateServiceAccount(const Environment& environment, const std::string& url,
                                                 const std::string& token, const nlohmann::json& options) {
  const std::string principal = PrincipalOf(url);
  if (principal.empty()) {
    return Status::InvalidArgument(
        "the service_account_impersonation_url names no service account (it ends with EMAIL:generateAccessToken)");
  }
  nlohmann::json ask = {
      {"scope", {kStorageScope}},
      {"lifetime", fmt::format("{}s", SecondsOf(options, "token_lifetime_seconds", kLifetimeSeconds))}};
  if (const auto delegates = options.find("delegates"); delegates != options.end() && delegates->is_array()) {
    ask["delegates"] = *delegates;
  }
  const std::string body = DumpJson(ask);
  http::Request request;
  request.method = "POST";
  request.url = url;
  request.headers.Set("Content-Type", "application/json");
  request.headers.Set("Authorization", "Bearer " + token);
  request.body.push_back(std::as_bytes(std::span(body)));
  const std::string what = "a token of service account " + principal;
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json answer, FetchJson(environment, request, what));
  GcsCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.access_token, RequiredText(answer, "accessToken", what));
  const auto expires = ParseIsoTime(OptionalText(answer, "expireTime"));
  credentials.expires = expires.value_or(environment.now() + static_cast<double>(kLifetimeSeconds));
  credentials.source = "service account " + principal;
  return credentials;
}

}  // namespace assay::storage
