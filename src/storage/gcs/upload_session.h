// Resumable uploads of Google Cloud Storage: one stream of chunks that takes conditions, which uploads in parts do not.
// Source: "Resumable uploads" and "Perform resumable uploads" in the Cloud Storage documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "storage/gcs/gcs_dialect.h"
#include "storage/object_store.h"
#include "storage/transfer/retry.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

/// Chunks but the last are multiples of this.
inline constexpr int64_t kResumableMultipleBytes = 256 << 10;

/// Whether content that goes to `endpoint` may go to `address`, which the service gave: a whole URL, and https where
/// the endpoint is. Its host may be another.
bool IsSessionOf(std::string_view endpoint, std::string_view address);

/// One session. After a failure it asks how much the service has and goes on from there, and so it does with a session
/// of an earlier try (WriteOptions::resume). Belongs to one thread; the destructor cancels what was not finished,
/// unless it is kept for another try (WriteOptions::journal, whose upload id is the session's URL: who knows it may
/// write).
class UploadSession {
 public:
  UploadSession(const CallContext& context, const GcsDialect& dialect, std::string key, const WriteOptions& options);
  ~UploadSession();
  UploadSession(const UploadSession&) = delete;
  UploadSession& operator=(const UploadSession&) = delete;

  Status Begin();
  /// After Begin(); `chunk_bytes` are sent at a time.
  void TellJournal(int64_t chunk_bytes) const;
  /// Sends bytes of which there are a multiple of 256 KiB.
  Status Append(Bytes bytes);
  /// The CRC32C of what it was given and of `rest` behind that.
  Checksum ChecksumWith(Bytes rest) const { return MakeCrc32c(Crc32c(crc32c_, rest)); }
  /// Sends the rest and publishes the object. The service compares the CRC32C of all bytes before it does.
  Result<ObjectInfo> Finish(Bytes rest);
  void Abort();

 private:
  /// What one request led to.
  struct Step {
    std::optional<Failure> failure;
    int64_t committed = 0;             ///< bytes that the service has, while the object is not complete
    std::optional<ObjectInfo> object;  ///< complete
  };

  Status BeginNew();
  /// No session where the service does not know that one any more.
  Status BeginAgain();
  /// What ResumableUpload::terms says of a session that is begun now.
  std::string Terms() const;
  void TakeToken();
  /// Of a failed step; whether the session is kept follows from it.
  Status Fail(Status status);
  /// Waits before the next attempt; an error where there shall be none.
  Status PrepareRetry(const Failure& failure, AttemptHistory& history);
  Result<ObjectInfo> TakeCompleted() const;
  /// What the service says it has made of the bytes up to `end`: an error where more were to come, or it has another
  /// size.
  Result<std::optional<ObjectInfo>> TakeObject(const ObjectInfo& object, int64_t end, bool last);
  /// Nothing while the object is not complete.
  Result<std::optional<ObjectInfo>> Send(Bytes bytes, bool last);
  Step Try(Bytes bytes, const std::string& range, bool last, int attempt);
  /// Ends in time where it is cancelled or the deadline passes, and is told to the observer.
  http::Outcome Run(http::Transfer transfer, int attempt) const;
  /// Whether `object`, which an earlier try made, is what stands. Not where that may not be asked for.
  Result<bool> Stands(const ObjectInfo& object) const;
  Step ReadAnswer(const http::Outcome& outcome) const;
  Status TakeCommitted(int64_t committed, int64_t begin, int64_t end);
  Status WaitBefore(const Failure& failure, double seconds) const;
  Result<ObjectInfo> OursOr(const Status& status) const;

  const CallContext& context_;
  const GcsDialect& dialect_;
  const std::string key_;
  const WriteOptions options_;
  std::string token_;
  const double deadline_;  // on MonotonicSeconds(); 0: none
  std::string session_;    // its URL; empty: nothing to cancel
  int64_t given_ = 0;      // bytes that the caller has given
  int64_t sent_ = 0;       // bytes that the service has; more than were given where an earlier try sent them
  std::optional<ObjectInfo> completed_;  // by an earlier try
  bool keep_ = false;                    // for another try
  uint32_t crc32c_ = 0;                  // of all bytes given
  std::optional<Failure> failure_;       // the last one
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace assay::storage
