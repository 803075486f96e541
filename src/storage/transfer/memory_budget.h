// How much memory the writers of one store may hold together.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay::storage {

/// Counts bytes. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes) : left_(bytes) {}

  /// False where less is left: then nothing is taken.
  bool Take(int64_t bytes) {
    int64_t left = left_;
    while (left >= bytes && !left_.compare_exchange_weak(left, left - bytes)) {
    }
    return left >= bytes;
  }
  /// Whatever is left: who has nothing could not go on, and who waits for others may be the one they wait for.
  void TakeAnyway(int64_t bytes) { left_ -= bytes; }
  void GiveBack(int64_t bytes) { left_ += bytes; }

 private:
  std::atomic<int64_t> left_;
};

}  // namespace assay::storage
