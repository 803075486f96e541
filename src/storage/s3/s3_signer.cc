#include "storage/s3/s3_signer.h"

#include "storage/auth/anonymous_signer.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/s3/aws_credentials.h"

namespace assay::storage {

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

}  // namespace assay::storage
