// The Signer of Google Cloud Storage with OAuth2 tokens.
#pragma once

#include <functional>
#include <string>

#include "storage/auth/credential_cache.h"
#include "storage/auth/gcs_credentials.h"
#include "storage/auth/signer.h"

namespace assay::storage {

class GcsSigner : public Signer {
 public:
  GcsSigner(std::function<Result<GcsCredentials>()> load, std::function<double()> now)
      : now_(now), cache_(std::move(load), std::move(now)) {}

  Status Prepare() override { return cache_.Prepare(); }
  Status Sign(http::Request& request, std::string_view payload_hash) override;
  /// A V4 signed URL; needs a service account's key.
  Result<std::string> Presign(const http::Request& request, int64_t seconds) override;
  void Expire() override { cache_.Expire(); }
  std::string Describe() const override;

 private:
  const std::function<double()> now_;
  CredentialCache<GcsCredentials> cache_;
};

}  // namespace assay::storage
