#include "storage/auth/jwt.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

std::string Base64UrlEncode(std::string_view bytes) {
  std::string text = Base64Encode(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(std::min(text.find('='), text.size()));
  return text;
}

std::optional<std::string> Base64UrlDecode(std::string text) {
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return Base64Decode(text);
}

}  // namespace

Result<std::string> MakeJwt(const nlohmann::json& header, const nlohmann::json& claims, const RsaKey& key) {
  std::string token = Base64UrlEncode(DumpJson(header)) + "." + Base64UrlEncode(DumpJson(claims));
  ASSAY_ASSIGN_OR_RETURN(const std::string signature, key.Sign(token));
  token += "." + Base64UrlEncode(signature);
  return token;
}

double JwtExpiry(std::string_view token) {
  const size_t begin = token.find('.');
  const size_t end = begin == std::string_view::npos ? begin : token.find('.', begin + 1);
  if (end == std::string_view::npos) {
    return 0;
  }
  const auto text = Base64UrlDecode(std::string(token.substr(begin + 1, end - begin - 1)));
  const nlohmann::json claims = nlohmann::json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  const bool known = claims.is_object() && claims.contains("exp") && claims["exp"].is_number();
  return known ? claims["exp"].get<double>() : 0;
}

}  // namespace assay::storage
