// The Signer of OCI object storage.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "storage/auth/credential_cache.h"
#include "storage/auth/oci_credentials.h"
#include "storage/auth/signer.h"

namespace assay::storage {

class OciSigner : public Signer {
 public:
  OciSigner(std::function<Result<OciCredentials>()> load, std::function<double()> now)
      : now_(now), cache_(std::move(load), std::move(now)) {}

  Status Prepare() override { return cache_.Prepare(); }
  Status Sign(http::Request& request, std::string_view payload_hash) override;
  /// OCI has pre-authenticated requests instead, which the service makes.
  Result<std::string> Presign(const http::Request& request, int64_t seconds) override;
  void Expire() override { cache_.Expire(); }
  void CorrectClock(std::string_view date) override;
  std::string Describe() const override;

 private:
  const std::function<double()> now_;
  CredentialCache<OciCredentials> cache_;
  std::atomic<double> clock_offset_seconds_ = 0;
};

}  // namespace assay::storage
