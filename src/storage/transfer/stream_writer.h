// A write of unknown length: parts are filled from what comes, and sent while more comes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "storage/memory_pool.h"
#include "storage/object_store.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/upload.h"

namespace assay::storage {

/// Each part is filled in memory of the store's pool, for which it waits, and given back when it has arrived. An object
/// that fits in one part is written in one request.
class StreamWriter : public ObjectWriter {
 public:
  /// Asked once it is known whether the object goes in parts, before anything is sent: an error ends the write.
  using MaySend = std::function<Status(bool in_parts)>;

  StreamWriter(const CallContext& context, std::string key, const WriteOptions& options, MaySend may_send = nullptr);
  ~StreamWriter() override;

  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  Status Fill(Bytes bytes);
  Status SendPart();
  /// For the next part; the whole budget, where that is less.
  Status TakeBuffer();
  Result<ObjectInfo> Publish();

  CallContext context_;
  std::string key_;
  WriteOptions options_;
  MaySend may_send_;
  std::optional<ChecksumStream> expected_stream_;
  int64_t parts_ = 0;
  PooledMemory current_;
  size_t filled_ = 0;
  Status broken_;  ///< why nothing more can be written
  std::unique_ptr<MultipartUpload> upload_;
};

}  // namespace assay::storage
