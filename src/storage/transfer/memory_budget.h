// How much memory the writers of one store may hold together.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace assay::storage {

/// Counts bytes. Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes) : bytes_(bytes), left_(bytes) {}

  /// Of all together.
  int64_t bytes() const { return bytes_; }

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
  const int64_t bytes_;
  std::atomic<int64_t> left_;
};

/// What one writer holds of a budget; given back with it. For one thread.
class HeldMemory {
 public:
  /// `budget` is not owned.
  explicit HeldMemory(MemoryBudget& budget) : budget_(budget) {}
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory() { GiveBack(); }

  bool Take(int64_t bytes) {
    const bool taken = budget_.Take(bytes);
    held_ += taken ? bytes : 0;
    return taken;
  }
  void TakeAnyway(int64_t bytes) {
    budget_.TakeAnyway(bytes);
    held_ += bytes;
  }
  void GiveBack() { budget_.GiveBack(std::exchange(held_, 0)); }

 private:
  MemoryBudget& budget_;
  int64_t held_ = 0;
};

}  // namespace assay::storage
