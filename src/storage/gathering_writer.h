// A stream that is gathered in memory and written in one go: for stores that take such an object only whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/memory_pool.h"
#include "storage/object_store.h"

namespace assay::storage {

class GatheringWriter : public ObjectWriter {
 public:
  /// `store` and `pool`, which it shares with the store's other writers, are not owned. A write that the pool has no
  /// room for is an error: who waited for others, which hold theirs until they are committed, could wait for ever.
  GatheringWriter(ObjectStore& store, MemoryPool& pool, std::string key, WriteOptions options);
  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  ObjectStore& store_;
  MemoryPool& pool_;
  const std::string key_;
  const WriteOptions options_;
  std::vector<PooledMemory> memory_;
  std::vector<Bytes> buffers_;
  Status broken_;  // why nothing more can be written
};

}  // namespace assay::storage
