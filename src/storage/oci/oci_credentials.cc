#include "storage/oci/oci_credentials.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "storage/auth/jwt.h"

namespace assay::storage {
namespace {

constexpr std::string_view kAdvice =
    "write ~/.oci/config with `oci setup config`, choose a profile, set OCI_CLI_AUTH, or go anonymous";

std::optional<std::string> Value(const IniSection& section, const std::string& key) {
  const auto found = section.find(key);
  return found != section.end() && !found->second.empty() ? std::optional(found->second) : std::nullopt;
}

Result<RsaKey> ReadKey(const OciProfile& profile, const Environment& environment) {
  const std::string passphrase = Value(profile.values, "pass_phrase").value_or("");
  if (const auto content = Value(profile.values, "key_content")) {
    return RsaKey::FromPrivatePem(*content, passphrase, "profile '" + profile.name + "'");
  }
  const std::string path = environment.ExpandUser(Value(profile.values, "key_file").value_or(""));
  ASSAY_ASSIGN_OR_RETURN(const std::string pem, ReadFile(path));
  Result<RsaKey> key = RsaKey::FromPrivatePem(pem, passphrase, path);
  // A passphrase inherited from DEFAULT does not fit a plain key: PEM ignores it, so nothing is to be done here.
  return key;
}

Result<OciCredentials> ReadProfile(const OciProfile& profile, const Environment& environment) {
  const auto token_path = Value(profile.values, "security_token_file");
  std::vector<const char*> required = {"key_file"};
  if (!token_path) {
    required.insert(required.end(), {"tenancy", "user", "fingerprint"});
  }
  for (const char* key : required) {
    if (!Value(profile.values, key) && !(std::string_view(key) == "key_file" && Value(profile.values, "key_content"))) {
      return Status::InvalidArgument("profile '" + profile.name + "' of " + profile.path + " has no " + key);
    }
  }
  OciCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.key, ReadKey(profile, environment));
  credentials.source = "profile " + profile.name + " of " + profile.path;
  if (!token_path) {
    credentials.key_id = fmt::format("{}/{}/{}", *Value(profile.values, "tenancy"), *Value(profile.values, "user"),
                                     *Value(profile.values, "fingerprint"));
    return credentials;
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string token, ReadFile(environment.ExpandUser(*token_path)));
  credentials.key_id = "ST$" + std::string(Trim(token));
  credentials.expires = JwtExpiry(Trim(token));
  return credentials;
}

// The text itself, or the content of the file it is the absolute path of.
Result<std::string> TextOrFile(const std::string& value) {
  return value.starts_with('/') ? ReadFile(value) : Result<std::string>(value);
}

Result<OciCredentials> ReadResourcePrincipal(const Environment& environment) {
  const std::optional<std::string> token = environment.variable("OCI_RESOURCE_PRINCIPAL_RPST");
  const std::optional<std::string> pem = environment.variable("OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM");
  if (!token || !pem) {
    return Status::InvalidArgument(
        "OCI_RESOURCE_PRINCIPAL_VERSION is set without OCI_RESOURCE_PRINCIPAL_RPST and "
        "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM");
  }
  const std::string phrase = environment.variable("OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM_PASSPHRASE").value_or("");
  ASSAY_ASSIGN_OR_RETURN(const std::string key_text, TextOrFile(*pem));
  ASSAY_ASSIGN_OR_RETURN(const std::string passphrase, TextOrFile(phrase));
  ASSAY_ASSIGN_OR_RETURN(const std::string session, TextOrFile(*token));
  OciCredentials credentials;
  ASSAY_ASSIGN_OR_RETURN(credentials.key, RsaKey::FromPrivatePem(key_text, std::string(Trim(passphrase)),
                                                                 "OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM"));
  credentials.key_id = "ST$" + std::string(Trim(session));
  credentials.expires = JwtExpiry(Trim(session));
  credentials.source = "resource principal";
  return credentials;
}

}  // namespace

Result<OciProfile> LoadOciProfile(const StoreOptions& options, const Environment& environment) {
  OciProfile profile;
  profile.path = "~/.oci/config";
  for (const char* name : {"OCI_CLI_CONFIG_FILE", "OCI_CONFIG_FILE"}) {
    if (const auto path = environment.variable(name)) {
      profile.path = *path;
      break;
    }
  }
  profile.path = environment.ExpandUser(profile.path);
  profile.name =
      options.profile.empty() ? environment.variable("OCI_CLI_PROFILE").value_or("DEFAULT") : options.profile;
  ASSAY_ASSIGN_OR_RETURN(const IniFile file, ReadIniFile(profile.path));
  const auto section = file.find(profile.name);
  if (section == file.end()) {
    if (profile.name != "DEFAULT" && !file.empty()) {
      return Status::NotFound("there is no profile '" + profile.name + "' in " + profile.path + " (check --profile)");
    }
    return profile;
  }
  profile.values = section->second;
  if (const auto defaults = file.find("DEFAULT"); defaults != file.end()) {
    profile.values.insert(defaults->second.begin(), defaults->second.end());
  }
  return profile;
}

OciAnswer FromOciConfig(const StoreOptions& options, const Environment& environment) {
  const Result<OciProfile> profile = LoadOciProfile(options, environment);
  if (!profile.ok()) {
    return profile.status();
  }
  if (profile->values.empty()) {
    return NotConfigured{"no profile '" + profile->name + "' in " + profile->path};
  }
  return ToAnswer(ReadProfile(*profile, environment));
}

OciAnswer FromResourcePrincipal(const Environment& environment) {
  const std::optional<std::string> version = environment.variable("OCI_RESOURCE_PRINCIPAL_VERSION");
  if (!version) {
    return NotConfigured{"OCI_RESOURCE_PRINCIPAL_VERSION is not set"};
  }
  if (*version != "2.2") {
    return Status::Unsupported("resource principals of version " + *version + " are not supported (2.2 is)");
  }
  return ToAnswer(ReadResourcePrincipal(environment));
}

Result<OciCredentials> LoadOciCredentials(const StoreOptions& options, const Environment& environment) {
  using Source = CredentialSource<OciCredentials>;
  const Source config = {"configuration file", [&] { return FromOciConfig(options, environment); }};
  const Source resource = {"resource principal", [&] { return FromResourcePrincipal(environment); }};
  const Source instance = {"instance principal", [&] { return FromInstancePrincipal(environment); }};
  const std::string wanted = environment.variable("OCI_CLI_AUTH").value_or("");
  if (wanted.empty()) {
    return LoadFromChain<OciCredentials>({config, resource, instance}, kAdvice);
  }
  if (wanted == "api_key" || wanted == "security_token") {
    return LoadFromChain<OciCredentials>({config}, kAdvice);
  }
  if (wanted == "resource_principal") {
    return LoadFromChain<OciCredentials>({resource}, kAdvice);
  }
  if (wanted == "instance_principal") {
    return LoadFromChain<OciCredentials>({instance}, kAdvice);
  }
  return Status::InvalidArgument("unknown OCI_CLI_AUTH '" + wanted +
                                 "' (known are api_key, security_token, resource_principal and instance_principal)");
}

}  // namespace assay::storage
