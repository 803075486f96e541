// Where AWS credentials come from.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "storage/auth/credential_chain.h"
#include "storage/auth/environment.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/options.h"
#include "storage/s3/aws_config.h"

namespace assay::storage {

using AwsAnswer = SourceAnswer<AwsCredentials>;

/// What a chain's sources share. The configuration is read anew at each load, since tools rewrite it.
struct AwsContext {
  Environment environment;
  AwsConfig config;
  std::string profile;
  std::string region;          ///< for STS; empty: its global endpoint's
  bool profile_named = false;  ///< by the caller: the environment's keys and web identity do not count then
};

/// The order is botocore's: environment, assume role of the profile, web identity, SSO, shared credentials, process,
/// shared config, container, instance metadata.
Result<AwsCredentials> LoadAwsCredentials(const StoreOptions& options, const Environment& environment);

/// The profile's part of the chain: web identity, SSO, credentials file, process, config file.
std::vector<CredentialSource<AwsCredentials>> ProfileSources(const AwsContext& context, const std::string& profile,
                                                             bool use_environment);

AwsAnswer FromEnvironment(const AwsContext& context);
/// role_arn with source_profile or credential_source, through STS AssumeRole; profiles may refer to one another.
AwsAnswer FromAssumeRole(const AwsContext& context);
AwsAnswer FromWebIdentity(const AwsContext& context, const std::string& profile, bool use_environment);
/// The cached token of `aws sso login`, refreshed where it can be, for the role's credentials.
AwsAnswer FromSso(const AwsContext& context, const std::string& profile);
AwsAnswer FromProcess(const AwsContext& context, const std::string& profile);
AwsAnswer FromContainer(const AwsContext& context);
/// IMDSv2.
AwsAnswer FromInstanceMetadata(const AwsContext& context);

/// Of an answer with AccessKeyId, SecretAccessKey, `token_name` and Expiration (ISO 8601).
Result<AwsCredentials> ReadAwsCredentials(const nlohmann::json& json, const char* token_name, std::string_view what);

}  // namespace assay::storage
