// The Signer of Google Cloud Storage with OAuth2 tokens.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "storage/auth/credential_cache.h"
#include "storage/auth/signer.h"
#include "storage/gcs/gcs_credentials.h"

namespace assay::storage {

class GcsSigner : public Signer {
 public:
  GcsSigner(std::function<Result<GcsCredentials>()> load, std::function<double()> now)
      : now_(now), cache_(std::move(load), std::move(now)) {}

  Status Prepare() override { return cache_.Prepare(); }
  Need need() const override { return cache_.need(); }
  Status Sign(http::Request& request, std::string_view payload_hash) override;
  /// A V4 signed URL; needs a service account's key.
  Result<std::string> Presign(const http::Request& request, int64_t seconds) override;
  void Expire() override { cache_.Expire(); }
  std::string Describe() const override;

 private:
  const std::function<double()> now_;
  CredentialCache<GcsCredentials> cache_;
};

/// OAuth2 bearer tokens, or SigV4 with HMAC keys for the XML dialect where GCS_HMAC_ACCESS_KEY_ID and
/// GCS_HMAC_SECRET_ACCESS_KEY are set. Presign makes V4 signed URLs of "https://storage.googleapis.com/bucket/key"
/// (service accounts and HMAC keys only). Nothing is fetched before Prepare(): the chain's failure is Prepare's.
Result<std::unique_ptr<Signer>> MakeGcsSigner(const StoreOptions& options, const Environment& environment);

}  // namespace assay::storage
