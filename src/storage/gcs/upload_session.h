// Resumable uploads of Google Cloud Storage: one stream of chunks that takes conditions, which uploads in parts do not.
// Source: "Resumable uploads" and "Perform resumable uploads" in the Cloud Storage documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/task.h"
#include "storage/gcs/gcs_dialect.h"
#include "storage/object_store.h"
#include "storage/transfer/store_call.h"
#include "storage/transfer/whole_put.h"

namespace assay::storage {

/// Chunks but the last are multiples of this.
inline constexpr int64_t kResumableMultipleBytes = 256 << 10;
/// How much is sent at a time: the options' part size, 16 MiB where they name none, within the memory budget.
int64_t SessionChunkBytes(const StoreOptions& options);

/// Whether content that goes to `endpoint` may go to `address`, which the service gave: a whole URL, and https where
/// the endpoint is. Its host may be another.
bool IsSessionOf(std::string_view endpoint, std::string_view address);

/// One session. After a failure it asks how much the service has and goes on from there, and so it does with a session
/// of an earlier try (WriteOptions::resume). Its tasks run one at a time; the destructor cancels what was not finished,
/// unless it is kept for another try (WriteOptions::journal, whose upload id is the session's URL: who knows it may
/// write).
class UploadSession {
 public:
  UploadSession(const CallContext& context, const GcsDialect& dialect, std::string key, const WriteOptions& options);
  ~UploadSession();
  UploadSession(const UploadSession&) = delete;
  UploadSession& operator=(const UploadSession&) = delete;

  Task<Status> Begin();
  /// After Begin(); `chunk_bytes` are sent at a time.
  Task<void> TellJournal(int64_t chunk_bytes) const;
  /// Sends bytes of which there are a multiple of 256 KiB.
  Task<Status> Append(Pieces chunk);
  /// The CRC32C of what it was given and of `rest` behind that.
  Checksum ChecksumWith(std::span<const Bytes> rest) const;
  /// Sends the rest and publishes the object. The service compares the CRC32C of all bytes before it does.
  Task<Result<ObjectInfo>> Finish(Pieces rest);
  /// What the destructor does, without holding a thread.
  Task<void> Abort();

 private:
  Task<Status> BeginNew();
  /// No session where the service does not know that one any more.
  Task<Status> BeginAgain();
  /// What ResumableUpload::terms says of a session that is begun now.
  std::string Terms() const;
  void TakeToken();
  /// Of a failed step; whether the session is kept follows from it.
  Status Fail(Status status);
  Result<ObjectInfo> TakeCompleted() const;
  /// What the service says it has made of the bytes up to `end`: an error where more were to come, or it has another
  /// size.
  Task<Result<std::optional<ObjectInfo>>> TakeObject(const ObjectInfo& object, int64_t end, bool last);
  /// Nothing while the object is not complete.
  Task<Result<std::optional<ObjectInfo>>> Send(Pieces pieces, bool last);
  /// A request of the session's address, which is its own proof.
  Outgoing Request(const char* method) const;
  /// Whether `object`, which an earlier try made, is what stands. Not where that may not be asked for.
  Task<Result<bool>> Stands(const ObjectInfo& object) const;
  Task<Result<ObjectInfo>> OursOr(Status status) const;

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
};

/// Scattered buffers of known total through a session; in one request where they fit in a chunk.
Task<Result<ObjectInfo>> WriteInSession(const CallContext& context, const GcsDialect& dialect, std::string key,
                                        std::span<const Bytes> buffers, const WriteOptions& options);

}  // namespace assay::storage
