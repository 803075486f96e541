// Makes the signer of a store out of its options, the environment and the SDKs' own configuration files.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "storage/auth/environment.h"
#include "storage/auth/signer.h"
#include "storage/options.h"

namespace assay::storage {

/// A fetch over HTTP clients of its own, for tokens and metadata: three attempts where a failure may pass. Answers of
/// metadata services are awaited for a second only (AWS_METADATA_SERVICE_TIMEOUT), others for as long as `options` say.
/// TLS is always checked, plain http refused but to this machine and its metadata services, and to these no proxy is
/// used (credential_address.h).
Fetch MakeFetch(const StoreOptions& options);

/// What the AWS configuration says besides credentials.
struct AwsSettings {
  std::string region;    ///< empty where nothing names one
  std::string endpoint;  ///< of S3; empty where nothing names one
};
/// options, then AWS_REGION and AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL, then the profile's
/// `region`, `endpoint_url` and services section. An unreadable file is an error, a missing one is not.
Result<AwsSettings> ResolveAwsSettings(const StoreOptions& options, const Environment& environment);

/// SigV4 for service "s3". Nothing is fetched before Prepare(): the chain's failure is Prepare's.
Result<std::unique_ptr<Signer>> MakeS3Signer(const StoreOptions& options, const std::string& region,
                                             const Environment& environment);

/// OAuth2 bearer tokens, or SigV4 with HMAC keys for the XML dialect where GCS_HMAC_ACCESS_KEY_ID and
/// GCS_HMAC_SECRET_ACCESS_KEY are set. Presign makes V4 signed URLs of "https://storage.googleapis.com/bucket/key"
/// (service accounts and HMAC keys only).
Result<std::unique_ptr<Signer>> MakeGcsSigner(const StoreOptions& options, const Environment& environment);

/// RSA-SHA256 request signatures.
Result<std::unique_ptr<Signer>> MakeOciSigner(const StoreOptions& options, const Environment& environment);
/// What ~/.oci/config says besides credentials; empty where nothing does.
struct OciSettings {
  std::string region;
  std::string tenancy;
};
Result<OciSettings> ResolveOciSettings(const StoreOptions& options, const Environment& environment);

}  // namespace assay::storage
