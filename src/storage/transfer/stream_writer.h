// A write of unknown length: parts are filled from what comes, and sent while more comes.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/memory_budget.h"
#include "storage/transfer/upload.h"

namespace assay::storage {

/// Holds parts as far as the memory budget goes, which it shares with the store's other writers, and one in any case.
/// An object that fits in one part is written in one request.
class StreamWriter : public ObjectWriter {
 public:
  /// Asked once it is known whether the object goes in parts, before anything is sent: an error ends the write.
  using MaySend = std::function<Status(bool in_parts)>;

  /// `memory` must outlive it.
  StreamWriter(const CallContext& context, MemoryBudget& memory, std::string key, const WriteOptions& options,
               MaySend may_send = nullptr);
  ~StreamWriter() override;

  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  struct Buffer {
    std::shared_ptr<std::byte[]> memory;  ///< given back to the budget with its last owner
    size_t capacity = 0;
  };

  Status Fill(Bytes bytes);
  Status SendPart();
  /// False where the budget has no room and parts are on their way, whose buffers will serve.
  bool TakeBuffer(size_t bytes);
  /// How many parts are on their way, after `more` were added.
  int CountSent(int more);
  Result<ObjectInfo> Publish();

  CallContext context_;
  MemoryBudget& memory_;
  std::string key_;
  WriteOptions options_;
  MaySend may_send_;
  std::optional<ChecksumStream> expected_stream_;
  int64_t parts_ = 0;
  Buffer current_;
  size_t filled_ = 0;
  std::mutex mutex_;
  std::vector<Buffer> free_;  // guarded by mutex_
  int sent_ = 0;              ///< buffers of parts that are on their way; guarded by mutex_
  Status broken_;             ///< why nothing more can be written
  std::unique_ptr<MultipartUpload> upload_;
};

}  // namespace assay::storage
