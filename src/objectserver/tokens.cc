#include "objectserver/tokens.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "objectserver/store.h"
#include "storage/auth/rsa_key.h"
#include "storage/integrity/checksum.h"

namespace assay::objectserver {
namespace {

/// RFC 4648 section 5, without padding.
std::optional<std::string> DecodeBase64Url(std::string_view text) {
  std::string padded(text);
  std::ranges::replace(padded, '-', '+');
  std::ranges::replace(padded, '_', '/');
  padded.resize((padded.size() + 3) / 4 * 4, '=');
  return storage::Base64Decode(padded);
}

Status JudgeClaims(const nlohmann::json& claims, double now) {
  constexpr double kSkewSeconds = 300;
  if (!claims.contains("exp") || !claims["exp"].is_number() || claims["exp"].get<double>() < now) {
    return Status::PermissionDenied("the assertion has expired");
  }
  if (!claims.contains("iat") || !claims["iat"].is_number() || claims["iat"].get<double>() > now + kSkewSeconds) {
    return Status::PermissionDenied("the assertion was issued in the future");
  }
  return Status::Ok();
}

}  // namespace

bool Tokens::Knows(std::string_view token) const {
  if (credentials_.KnowsToken(token, UnixSeconds())) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  const auto found = issued_.find(token);
  return found != issued_.end() && found->second > UnixSeconds();
}

Result<std::string> Tokens::Exchange(std::string_view assertion) {
  if (credentials_.anonymous()) {
    return Issue();
  }
  const size_t first = assertion.find('.');
  const size_t last = assertion.rfind('.');
  if (first == std::string_view::npos || first == last) {
    return Status::PermissionDenied("the assertion is no JWT");
  }
  const auto claims_text = DecodeBase64Url(assertion.substr(first + 1, last - first - 1));
  const auto signature = DecodeBase64Url(assertion.substr(last + 1));
  const Result<nlohmann::json> claims = ParseJson(claims_text.value_or(""), "assertion");
  if (!signature || !claims.ok() || !claims->is_object() || !claims->contains("iss") || !(*claims)["iss"].is_string()) {
    return Status::PermissionDenied("the assertion is no JWT");
  }
  const std::string issuer = (*claims)["iss"].get<std::string>();
  const ServiceAccount* account = credentials_.FindServiceAccount(issuer);
  if (account == nullptr) {
    return Status::PermissionDenied("the service account " + issuer + " is not known");
  }
  ASSAY_ASSIGN_OR_RETURN(const storage::RsaKey key,
                         storage::RsaKey::FromPublicPem(account->public_key_pem, account->client_email));
  if (!key.Verify(assertion.substr(0, last), *signature)) {
    return Status::PermissionDenied("the assertion's signature is wrong");
  }
  ASSAY_RETURN_IF_ERROR(JudgeClaims(*claims, UnixSeconds()));
  return Issue();
}

std::string Tokens::Issue() {
  const std::lock_guard lock(mutex_);
  const double now = UnixSeconds();
  std::erase_if(issued_, [&](const auto& entry) { return entry.second < now; });
  std::string token = "ya29.assay-" + RandomUid();
  issued_[token] = now + kLifetimeSeconds;
  return token;
}

}  // namespace assay::objectserver
