// OCI credentials and where they come from.
#pragma once

#include <optional>
#include <string>

#include "storage/auth/credential_chain.h"
#include "storage/auth/environment.h"
#include "storage/auth/ini_file.h"
#include "storage/auth/rsa_key.h"
#include "storage/options.h"

namespace assay::storage {

struct OciCredentials {
  std::string key_id;         ///< "tenancy/user/fingerprint", or "ST$token"
  std::optional<RsaKey> key;  ///< always set once loaded
  double expires = 0;         ///< of a session, seconds since 1970; 0: never
  std::string source;
};

using OciAnswer = SourceAnswer<OciCredentials>;

/// OCI_CLI_AUTH (api_key, security_token, resource_principal, instance_principal) asks one source alone. Else, in this
/// order: the configuration file, the resource principal's variables, the instance's metadata.
Result<OciCredentials> LoadOciCredentials(const StoreOptions& options, const Environment& environment);

/// The profile of the configuration file: OCI_CLI_CONFIG_FILE, OCI_CONFIG_FILE, ~/.oci/config; options,
/// OCI_CLI_PROFILE, DEFAULT, whose keys every profile inherits. Empty where there is no file.
struct OciProfile {
  std::string name;
  std::string path;
  IniSection values;
};
Result<OciProfile> LoadOciProfile(const StoreOptions& options, const Environment& environment);

OciAnswer FromOciConfig(const StoreOptions& options, const Environment& environment);
/// Version 2.2: OCI_RESOURCE_PRINCIPAL_RPST and OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM, each a text or an absolute path.
OciAnswer FromResourcePrincipal(const Environment& environment);
/// The instance's certificate, for a token of the auth service.
OciAnswer FromInstancePrincipal(const Environment& environment);

}  // namespace assay::storage
