#include "storage/auth/factory.h"

#include "storage/auth/anonymous_signer.h"
#include "storage/auth/aws_credentials.h"
#include "storage/auth/gcs_signer.h"
#include "storage/auth/oci_signer.h"
#include "storage/auth/sigv4_signer.h"

namespace assay::storage {
namespace {

// HMAC keys of Google's XML dialect, which it takes in AWS's form as in its own.
Result<AwsCredentials> LoadGcsHmac(const Environment& environment) {
  const auto id = environment.variable("GCS_HMAC_ACCESS_KEY_ID");
  const auto secret = environment.variable("GCS_HMAC_SECRET_ACCESS_KEY");
  if (!id || !secret) {
    return Status::InvalidArgument(
        "an HMAC key needs GCS_HMAC_ACCESS_KEY_ID and GCS_HMAC_SECRET_ACCESS_KEY (set both or neither)");
  }
  return AwsCredentials{.access_key_id = *id,
                        .secret_access_key = *secret,
                        .session_token = {},
                        .expires = 0,
                        .source = "HMAC key of GCS_HMAC_ACCESS_KEY_ID"};
}

}  // namespace

Result<AwsSettings> ResolveAwsSettings(const StoreOptions& options, const Environment& environment) {
  ASSAY_ASSIGN_OR_RETURN(const AwsConfig config, LoadAwsConfig(environment));
  const std::string profile = AwsProfileName(options, environment);
  AwsSettings settings{options.region, options.endpoint};
  if (settings.region.empty()) {
    settings.region = AwsRegion(config, profile, environment);
  }
  if (settings.endpoint.empty()) {
    settings.endpoint = AwsEndpoint("s3", config, profile, environment);
  }
  return settings;
}

Result<std::unique_ptr<Signer>> MakeS3Signer(const StoreOptions& options, const std::string& region,
                                             const Environment& environment) {
  if (options.anonymous) {
    return std::unique_ptr<Signer>(new AnonymousSigner);
  }
  const auto load = [options, environment] { return LoadAwsCredentials(options, environment); };
  SigV4SignerOptions signing;
  signing.region = region.empty() ? "us-east-1" : region;
  return std::unique_ptr<Signer>(new SigV4Signer(signing, load, environment.now));
}

Result<std::unique_ptr<Signer>> MakeGcsSigner(const StoreOptions& options, const Environment& environment) {
  if (options.anonymous || environment.variable("STORAGE_EMULATOR_HOST")) {
    return std::unique_ptr<Signer>(new AnonymousSigner);
  }
  if (environment.variable("GCS_HMAC_ACCESS_KEY_ID")) {
    SigV4SignerOptions signing;
    signing.dialect = &kGoog4Hmac;
    signing.region = "auto";
    signing.service = "storage";
    const auto load = [environment] { return LoadGcsHmac(environment); };
    return std::unique_ptr<Signer>(new SigV4Signer(signing, load, environment.now));
  }
  const auto load = [environment] { return LoadGcsCredentials(environment); };
  return std::unique_ptr<Signer>(new GcsSigner(load, environment.now));
}

Result<std::unique_ptr<Signer>> MakeOciSigner(const StoreOptions& options, const Environment& environment) {
  if (options.anonymous) {
    return std::unique_ptr<Signer>(new AnonymousSigner);
  }
  const auto load = [options, environment] { return LoadOciCredentials(options, environment); };
  return std::unique_ptr<Signer>(new OciSigner(load, environment.now));
}

Result<OciSettings> ResolveOciSettings(const StoreOptions& options, const Environment& environment) {
  ASSAY_ASSIGN_OR_RETURN(const OciProfile profile, LoadOciProfile(options, environment));
  const auto value = [&profile](const char* key) {
    const auto found = profile.values.find(key);
    return found != profile.values.end() ? found->second : std::string();
  };
  OciSettings settings{options.region, value("tenancy")};
  for (const char* name : {"OCI_CLI_REGION", "OCI_REGION", "OCI_RESOURCE_PRINCIPAL_REGION"}) {
    if (settings.region.empty()) {
      settings.region = environment.variable(name).value_or("");
    }
  }
  if (settings.region.empty()) {
    settings.region = value("region");
  }
  return settings;
}

}  // namespace assay::storage
