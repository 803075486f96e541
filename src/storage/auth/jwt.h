// JSON Web Tokens (RFC 7519): made with RS256, and read without being checked.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/auth/rsa_key.h"

namespace assay::storage {

/// "header.claims.signature" in base64url without padding.
Result<std::string> MakeJwt(const nlohmann::json& header, const nlohmann::json& claims, const RsaKey& key);
/// The "exp" claim, seconds since 1970; 0 where the text is no token or has none. Nothing is verified: the token is
/// ours, and only its end is wanted.
double JwtExpiry(std::string_view token);

}  // namespace assay::storage
