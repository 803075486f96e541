// Memory that an object, or a window of it, passes through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "storage/memory_pool.h"

namespace assay::storage {

/// The store's memory, where that has a budget.
class WindowMemory {
 public:
  /// Waits for it; `may_wait` not: tells whether there is some.
  Result<bool> Take(MemoryPool* pool, int64_t bytes, bool may_wait, CancelFlag cancel) {
    if (pool == nullptr) {
      own_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
      bytes_ = {own_.get(), static_cast<size_t>(bytes)};
      return true;
    }
    if (may_wait) {
      ASSAY_ASSIGN_OR_RETURN(pooled_, pool->Take(bytes, cancel));
    } else if (auto memory = pool->TryTake(bytes)) {
      pooled_ = *std::move(memory);
    }
    bytes_ = pooled_.bytes();
    return !bytes_.empty();
  }
  MutableBytes bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> own_;
  PooledMemory pooled_;
  MutableBytes bytes_;
};

}  // namespace assay::storage
