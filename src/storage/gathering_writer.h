// A stream that is gathered in memory and written in one go: for stores that take such an object only whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/object_store.h"

namespace assay::storage {

class GatheringWriter : public ObjectWriter {
 public:
  /// `store` is not owned; `limit_bytes`: of the stream.
  GatheringWriter(ObjectStore& store, std::string key, WriteOptions options, int64_t limit_bytes);
  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override { ended_ = true; }

 private:
  ObjectStore& store_;
  const std::string key_;
  const WriteOptions options_;
  const int64_t limit_bytes_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Bytes> buffers_;
  int64_t gathered_ = 0;
  bool ended_ = false;
};

}  // namespace assay::storage
