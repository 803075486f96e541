#include "storage/auth/oci_signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/text.h"
#include "storage/auth/time_format.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

constexpr double kMaxSkewSeconds = 5 * 60;

// One line a name: "date: Sat, ...". Nothing when a header is missing.
std::optional<std::string> SigningString(const std::vector<std::string>& names, std::string_view method,
                                         std::string_view target, const http::Headers& headers) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : "\n") + name + ": ";
    if (name == "(request-target)") {
      text += Lower(method) + " " + std::string(target);
      continue;
    }
    const auto value = headers.Find(name);
    if (!value) {
      return std::nullopt;
    }
    text += *value;
  }
  return text;
}

std::string Target(std::string_view path, std::string_view query) {
  return std::string(path) + (query.empty() ? "" : "?") + std::string(query);
}

OciVerdict Refuse(std::string message) {
  OciVerdict verdict;
  verdict.kind = OciVerdict::Kind::kRefused;
  verdict.code = "NotAuthenticated";
  verdict.http_status = 401;
  verdict.message = std::move(message);
  return verdict;
}

// name="value" pairs, separated by commas outside quotes.
std::map<std::string, std::string> ReadParameters(std::string_view text) {
  std::map<std::string, std::string> parameters;
  while (!text.empty()) {
    const size_t equals = text.find("=\"");
    const size_t end = equals == std::string_view::npos ? equals : text.find('"', equals + 2);
    if (end == std::string_view::npos) {
      break;
    }
    parameters[std::string(Trim(text.substr(0, equals)))] = text.substr(equals + 2, end - equals - 2);
    text.remove_prefix(end + 1);
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  return parameters;
}

void AddContentHeaders(std::string_view sha256, http::Request& request) {
  if (!request.headers.Has("content-type")) {
    request.headers.Set("Content-Type", "application/json");
  }
  if (!request.headers.Has("content-length")) {
    request.headers.Set("Content-Length", std::to_string(request.body_bytes()));
  }
  request.headers.Set("x-content-sha256", sha256);
}

}  // namespace

Status SignOciRequest(const RsaKey& key, const std::string& key_id, double now, const OciSigning& signing,
                      http::Request& request) {
  const std::optional<http::Url> url = http::ParseUrl(request.url);
  if (!url) {
    return Status::InvalidArgument("cannot sign a request: its address is no http or https URL");
  }
  request.headers.Set("Date", HttpDate(now));
  std::vector<std::string> names = {"date", "(request-target)"};
  if (signing.host) {
    names.push_back("host");
    if (!request.headers.Has("host")) {
      request.headers.Set("Host", url->authority());
    }
  }
  if (!signing.sha256.empty()) {
    AddContentHeaders(signing.sha256, request);
    names.insert(names.end(), {"content-length", "content-type", "x-content-sha256"});
  }
  const auto text = SigningString(names, request.method, Target(url->path, url->query), request.headers);
  ASSAY_ASSIGN_OR_RETURN(const std::string signature, key.Sign(*text));
  request.headers.Set(
      "Authorization",
      fmt::format(R"(Signature algorithm="rsa-sha256",headers="{}",keyId="{}",signature="{}",version="1")",
                  Join(names, " "), key_id, Base64Encode(signature)));
  return Status::Ok();
}

OciVerdict VerifyOciRequest(const ReceivedRequest& request, const OciKeyLookup& lookup, double now) {
  const auto authorization = request.headers->Find("authorization");
  if (!authorization) {
    return {};
  }
  if (!authorization->starts_with("Signature ")) {
    return Refuse("The required information to complete authentication was not provided.");
  }
  std::map<std::string, std::string> parameters = ReadParameters(authorization->substr(10));
  if (Lower(parameters["algorithm"]) != "rsa-sha256" || parameters["version"] != "1") {
    return Refuse("The signature must be of algorithm rsa-sha256 and version 1.");
  }
  const std::vector<std::string> names = Split(Lower(parameters["headers"]), ' ');
  const auto is_signed = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (!is_signed("(request-target)") || !is_signed("host") || (!is_signed("date") && !is_signed("x-date"))) {
    return Refuse("The signature must cover date, (request-target) and host.");
  }
  const auto date = request.headers->Find(is_signed("x-date") ? "x-date" : "date");
  const std::optional<double> signed_at = date ? ParseHttpDate(*date) : std::nullopt;
  if (!signed_at || std::abs(now - *signed_at) > kMaxSkewSeconds) {
    return Refuse("The Date header is missing or too far from the server's time.");
  }
  const std::optional<RsaKey> key = lookup(parameters["keyId"]);
  if (!key) {
    return Refuse("The required information to complete authentication was not provided or was incorrect.");
  }
  const auto text = SigningString(names, request.method, Target(request.path, request.query), *request.headers);
  const std::optional<std::string> signature = Base64Decode(parameters["signature"]);
  if (!text || !signature || !key->Verify(*text, *signature)) {
    return Refuse("Failed to verify the HTTP(S) Signature");
  }
  OciVerdict verdict;
  verdict.kind = OciVerdict::Kind::kAccepted;
  verdict.key_id = parameters["keyId"];
  verdict.body_signed = is_signed("x-content-sha256") && is_signed("content-length") && is_signed("content-type");
  return verdict;
}

}  // namespace assay::storage
