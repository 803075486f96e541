// A conditional write of unknown length to Google Cloud Storage.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/gcs/upload_session.h"
#include "storage/transfer/memory_budget.h"

namespace assay::storage {

/// What fits in one chunk is written in one request; more goes through a resumable upload, large writes straight from
/// the caller's memory.
class ResumableWriter : public ObjectWriter {
 public:
  /// Of `budget`, which the store's writers share, it holds a chunk in any case: it cannot do with less.
  ResumableWriter(const CallContext& context, const GcsDialect& dialect, MemoryBudget& budget, std::string key,
                  const WriteOptions& options);
  ~ResumableWriter() override { Abort(); }

  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  Status Take(Bytes bytes);
  Status SendChunk(Bytes chunk);
  /// Of all bytes; once.
  Checksum Sum();
  Result<ObjectInfo> Publish();

  const CallContext& context_;
  const GcsDialect& dialect_;
  const std::string key_;
  const WriteOptions options_;
  const size_t chunk_bytes_;
  HeldMemory held_;
  std::optional<ChecksumStream> sum_;  // of the chunks, where it is expected of another kind than the session's
  std::vector<std::byte> gathered_;    // less than a chunk, or just one
  std::optional<UploadSession> upload_;
  Status broken_;  // why nothing more can be written
};

}  // namespace assay::storage
