// Tokens of other identity providers, for the exchange that external accounts make.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "storage/auth/environment.h"

namespace assay::storage {

/// Of AWS: a signed request to its GetCallerIdentity, which Google sends to learn who we are. `json`: an external
/// account whose credential_source has environment_id "aws1"; `path`: the file it is from. Keys and region are those of
/// the environment (AWS_ACCESS_KEY_ID, ..., AWS_REGION), else of the instance's metadata under the addresses that the
/// source names. Sources: AIP-4117; google.auth.aws; the name of the audience is signed too, as AIP-4117 recommends.
Result<std::string> AwsSubjectToken(const Environment& environment, const nlohmann::json& json,
                                    const std::string& path);

/// Of a program's output, or of the file that it leaves: a credential_source with "executable". Runs one only where
/// GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES is 1, and ends it after its time. Source: AIP-4117; google.auth.pluggable.
Result<std::string> ExecutableSubjectToken(const Environment& environment, const nlohmann::json& json,
                                           const std::string& path);

}  // namespace assay::storage
