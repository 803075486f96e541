// A write of unknown length: parts are filled from what comes, and sent while more comes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/call_runner.h"
#include "storage/transfer/upload.h"

namespace assay::storage {

/// Holds at most the memory budget in parts. An object that fits in one part is written in one request.
class StreamWriter : public ObjectWriter {
 public:
  StreamWriter(const CallContext& context, std::string key, const WriteOptions& options);
  ~StreamWriter() override;

  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> memory;
    size_t capacity = 0;
  };

  Status Fill(Bytes bytes);
  Status SendPart();
  void TakeBuffer(size_t bytes);
  Result<ObjectInfo> Publish();

  CallContext context_;
  std::string key_;
  WriteOptions options_;
  std::optional<ChecksumStream> expected_stream_;
  int64_t parts_ = 0;
  Buffer current_;
  size_t filled_ = 0;
  std::vector<Buffer> free_;
  Status broken_;  ///< why nothing more can be written
  std::unique_ptr<MultipartUpload> upload_;
};

}  // namespace assay::storage
