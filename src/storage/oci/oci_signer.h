// The Signer of OCI object storage.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "storage/auth/credential_cache.h"
#include "storage/auth/signer.h"
#include "storage/oci/oci_credentials.h"

namespace assay::storage {

class OciSigner : public Signer {
 public:
  OciSigner(std::function<Result<OciCredentials>()> load, std::function<double()> now)
      : now_(now), cache_(std::move(load), std::move(now)) {}

  Status Prepare() override { return cache_.Prepare(); }
  Need need() const override { return cache_.need(); }
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

/// RSA-SHA256 request signatures. Nothing is fetched before Prepare(): the chain's failure is Prepare's.
Result<std::unique_ptr<Signer>> MakeOciSigner(const StoreOptions& options, const Environment& environment);

/// What ~/.oci/config says besides credentials; empty where nothing does.
struct OciSettings {
  std::string region;
  std::string tenancy;
};
Result<OciSettings> ResolveOciSettings(const StoreOptions& options, const Environment& environment);

}  // namespace assay::storage
