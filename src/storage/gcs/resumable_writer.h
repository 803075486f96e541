// A conditional write of unknown length to Google Cloud Storage.
#pragma once

#include <optional>
#include <string>

#include "storage/gcs/upload_session.h"
#include "storage/memory_pool.h"

namespace assay::storage {

/// What fits in one chunk is written in one request; more goes through a resumable upload, large writes straight from
/// the caller's memory.
class ResumableWriter : public ObjectWriter {
 public:
  /// From its first byte on it holds memory for a chunk, of the store's pool.
  ResumableWriter(const CallContext& context, const GcsDialect& dialect, std::string key, const WriteOptions& options);
  ~ResumableWriter() override { Abort(); }

  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  Status Take(Bytes bytes);
  Status Gather(Bytes bytes);
  Bytes gathered() const { return memory_.bytes().first(gathered_); }
  Status SendChunk(Bytes chunk);
  /// Of all bytes; once.
  Checksum Sum();
  Result<ObjectInfo> Publish();

  const CallContext& context_;
  const GcsDialect& dialect_;
  const std::string key_;
  const WriteOptions options_;
  const size_t chunk_bytes_;
  std::optional<ChecksumStream> sum_;  // of the chunks, where it is expected of another kind than the session's
  PooledMemory memory_;                // of a chunk
  size_t gathered_ = 0;                // bytes in it
  std::optional<UploadSession> upload_;
  Status broken_;  // why nothing more can be written
};

}  // namespace assay::storage
