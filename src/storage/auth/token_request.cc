#include "storage/auth/token_request.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>

#include "base/json.h"

namespace assay::storage {
namespace {

// What the service says went wrong, in the forms that AWS, Google and Oracle use.
std::string ServiceError(const std::string& body) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return {};
  }
  std::string text;
  for (const char* name : {"error", "error_description", "__type", "code", "Code", "message", "Message"}) {
    if (json.contains(name) && json[name].is_string()) {
      text += text.empty() ? ": " : ", ";
      text += json[name].get<std::string>();
    }
  }
  return text;
}

ErrorCode CodeOf(int status) {
  if (status >= 500 || status == 429) {
    return ErrorCode::kIo;
  }
  return status == 404 ? ErrorCode::kNotFound : ErrorCode::kPermissionDenied;
}

std::string HostOf(const http::Request& request) {
  const auto url = http::ParseUrl(request.url);
  return url ? url->authority() : "a malformed URL";
}

}  // namespace

std::string EncodeForm(const FormFields& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (!form.empty()) {
      form += '&';
    }
    form += http::PercentEncode(name);
    form += '=';
    form += http::PercentEncode(value);
  }
  return form;
}

Result<std::string> FetchText(const Environment& environment, const http::Request& request, std::string_view what) {
  if (!http::ParseUrl(request.url)) {
    return Status::InvalidArgument(fmt::format("cannot ask for {}: the address is no http or https URL", what));
  }
  Result<http::Response> response = environment.fetch(request);
  if (!response.ok()) {
    return response.status().WithContext(fmt::format("cannot ask {} for {}", HostOf(request), what));
  }
  if (response->status < 200 || response->status >= 300) {
    return Status(CodeOf(response->status), fmt::format("{} refused {} with HTTP status {}{}", HostOf(request), what,
                                                        response->status, ServiceError(response->body)));
  }
  return std::move(response->body);
}

Result<nlohmann::json> FetchJson(const Environment& environment, const http::Request& request, std::string_view what) {
  ASSAY_ASSIGN_OR_RETURN(const std::string body, FetchText(environment, request, what));
  nlohmann::json json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Status::PermissionDenied(
        fmt::format("{} answered something that is no JSON object when asked for {}", HostOf(request), what));
  }
  return json;
}

Result<nlohmann::json> PostForm(const Environment& environment, const std::string& url, const FormFields& fields,
                                std::string_view what) {
  const std::string form = EncodeForm(fields);
  http::Request request;
  request.method = "POST";
  request.url = url;
  request.headers.Set("Content-Type", "application/x-www-form-urlencoded");
  request.body.push_back(std::as_bytes(std::span(form)));
  return FetchJson(environment, request, what);
}

Result<std::string> RequiredText(const nlohmann::json& json, const char* name, std::string_view what) {
  if (!json.contains(name) || !json[name].is_string() || json[name].get_ref<const std::string&>().empty()) {
    return Status::PermissionDenied(fmt::format("{} lacks '{}'", what, name));
  }
  return json[name].get<std::string>();
}

}  // namespace assay::storage
