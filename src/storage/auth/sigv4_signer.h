// The Signer of S3, and of Google's XML dialect with HMAC keys.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "storage/auth/credential_cache.h"
#include "storage/auth/signer.h"
#include "storage/auth/sigv4.h"

namespace assay::storage {

/// The keys that are signed with.
struct AwsCredentials {
  std::string access_key_id;
  std::string secret_access_key;
  std::string session_token;  ///< empty: none
  double expires = 0;         ///< seconds since 1970; 0: never
  std::string source;         ///< "environment", "profile dev of ~/.aws/credentials": no secret
};

struct SigV4SignerOptions {
  const SigV4Dialect* dialect = &kAws4Hmac;
  std::string region;
  std::string service = "s3";
};

class SigV4Signer : public Signer {
 public:
  SigV4Signer(SigV4SignerOptions options, std::function<Result<AwsCredentials>()> load, std::function<double()> now);

  Status Prepare() override { return cache_.Prepare(); }
  Need need() const override { return cache_.need(); }
  Status Sign(http::Request& request, std::string_view payload_hash) override;
  Result<std::string> Presign(const http::Request& request, int64_t seconds) override;
  void Expire() override { cache_.Expire(); }
  void CorrectClock(std::string_view date) override;
  std::string Describe() const override;

 private:
  /// A signing key with the credentials it was derived from.
  struct DayKey {
    std::shared_ptr<const AwsCredentials> credentials;
    SigV4Key key;
  };
  /// Null before the first Prepare() that worked.
  std::shared_ptr<const DayKey> KeyFor(std::string_view timestamp);

  const SigV4SignerOptions options_;
  const std::function<double()> now_;
  CredentialCache<AwsCredentials> cache_;
  std::atomic<double> clock_offset_seconds_ = 0;
  std::mutex key_mutex_;
  std::shared_ptr<const DayKey> key_;  // of the last day signed for
};

}  // namespace assay::storage
