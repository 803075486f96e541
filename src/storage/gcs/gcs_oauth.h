// What all ways to a Google access token share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/auth/environment.h"
#include "storage/gcs/gcs_credentials.h"

namespace assay::storage {

inline constexpr char kStorageScope[] = "https://www.googleapis.com/auth/devstorage.full_control";
/// Of a token that is only good to ask for another one.
inline constexpr char kIamScope[] = "https://www.googleapis.com/auth/iam";

/// A text of an object of JSON, `otherwise` where there is none.
std::string OptionalText(const nlohmann::json& json, const char* name, std::string_view otherwise = "");

/// Token and end of an answer of OAuth 2.0 (RFC 6749 section 5.1); an error names `what`.
Result<GcsCredentials> ReadTokenAnswer(const nlohmann::json& answer, double now, std::string_view what);

/// A token of the service account behind `url` (".../serviceAccounts/EMAIL:generateAccessToken") for whoever
/// `token` is of. `options` may hold "delegates" and "token_lifetime_seconds".
Result<GcsCredentials> ImpersonateServiceAccount(const Environment& environment, const std::string& url,
                                                 const std::string& token, const nlohmann::json& options);

/// Workload and workforce identity federation ("external_account"): the token of another identity provider, out of a
/// file, from a URL, of a program or of AWS, is exchanged (RFC 8693), and the answer for one of a service account where
/// the file names one. Sources: AIP-4117; google.auth.identity_pool.
Result<GcsCredentials> TokenOfExternalAccount(const Environment& environment, const nlohmann::json& json,
                                              const std::string& path);

}  // namespace assay::storage
