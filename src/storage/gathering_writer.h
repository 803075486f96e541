// A stream that is gathered in memory and written in one go: for stores that take such an object only whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/memory_budget.h"

namespace assay::storage {

class GatheringWriter : public ObjectWriter {
 public:
  /// `store` and `budget`, which it shares with the store's other writers, are not owned. A write that the budget has
  /// no room for is an error: who waited for others, which hold theirs until they are committed, could wait for ever.
  GatheringWriter(ObjectStore& store, MemoryBudget& budget, std::string key, WriteOptions options);
  Status Write(Bytes bytes) override;
  Result<ObjectInfo> Commit() override;
  void Abort() override;

 private:
  ObjectStore& store_;
  const int64_t budget_bytes_;
  const std::string key_;
  const WriteOptions options_;
  HeldMemory held_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<Bytes> buffers_;
  Status broken_;  // why nothing more can be written
};

}  // namespace assay::storage
