// The AWS tools' shared configuration: ~/.aws/config and ~/.aws/credentials.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/auth/environment.h"
#include "storage/auth/ini_file.h"
#include "storage/options.h"

namespace assay::storage {

struct AwsConfig {
  IniFile profiles;     ///< of both files; a key of the credentials file wins
  IniFile credentials;  ///< of the credentials file alone
  IniFile config;       ///< profiles of the config file alone
  IniFile sso_sessions;
  IniFile services;
  std::string config_path;
  std::string credentials_path;

  /// Null when there is no such profile.
  const IniSection* FindProfile(const std::string& name) const;
  std::optional<std::string> Find(const std::string& profile, const std::string& key) const;
};

/// AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, else the files under ~/.aws.
Result<AwsConfig> LoadAwsConfig(const Environment& environment);

/// The profile in use: options, AWS_PROFILE, AWS_DEFAULT_PROFILE, "default".
std::string AwsProfileName(const StoreOptions& options, const Environment& environment);
/// AWS_REGION, AWS_DEFAULT_REGION, the profile's; empty where nothing names one.
std::string AwsRegion(const AwsConfig& config, const std::string& profile, const Environment& environment);
/// Where a service ("s3", "sts", "sso", "sso_oidc") is, if not at its own place: AWS_ENDPOINT_URL_<SERVICE>,
/// AWS_ENDPOINT_URL, the profile's services section, the profile's endpoint_url; empty where nothing says so.
std::string AwsEndpoint(std::string_view service, const AwsConfig& config, const std::string& profile,
                        const Environment& environment);

}  // namespace assay::storage
