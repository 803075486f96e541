// Signers: what turns a request into one a store believes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/message.h"

namespace assay::storage {

/// Signs requests of one store with credentials that it keeps fresh. All members may be called from any thread.
class Signer {
 public:
  virtual ~Signer() = default;

  /// Fetches or refreshes credentials where that is due; may block on a metadata server.
  virtual Status Prepare() = 0;
  /// What Prepare() would do now.
  enum class Need {
    kNothing,
    kMay,   ///< renew credentials that still serve
    kMust,  ///< fetch some: there are none that serve
  };
  virtual Need need() const = 0;
  /// Adds the headers that prove who we are. Never blocks: uses the credentials of the last Prepare(). `payload_hash`
  /// is what the scheme wants for the body: for SigV4 lower-case hexadecimal SHA-256, "UNSIGNED-PAYLOAD" or
  /// "STREAMING-UNSIGNED-PAYLOAD-TRAILER"; for OCI base64 SHA-256 (empty: not signed); others ignore it.
  virtual Status Sign(http::Request& request, std::string_view payload_hash) = 0;
  /// The same URL with the proof in its query, good for `seconds`. Unsupported where the scheme has none.
  virtual Result<std::string> Presign(const http::Request& request, int64_t seconds) = 0;
  /// The store said that the credentials have expired: the next Prepare() fetches new ones.
  virtual void Expire() = 0;
  /// The store said that our clock is wrong (S3: RequestTimeTooSkewed); `date` is the Date header of its answer. Later
  /// signatures are dated by the store's clock. Text that is no date of HTTP is ignored.
  virtual void CorrectClock(std::string_view date) {}
  /// Where the credentials come from, without secrets: "profile dev of ~/.aws/credentials".
  virtual std::string Describe() const = 0;
};

}  // namespace assay::storage
