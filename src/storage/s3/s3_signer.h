// The signer of S3 out of a store's options, the environment and the AWS tools' configuration files.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "storage/auth/environment.h"
#include "storage/auth/signer.h"
#include "storage/options.h"

namespace assay::storage {

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

}  // namespace assay::storage
