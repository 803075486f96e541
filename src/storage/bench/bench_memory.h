// Memory of a benchmark: large, on huge pages where the system has them, filled with what nothing compresses.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

class BenchMemory {
 public:
  static Result<BenchMemory> Allocate(int64_t bytes);
  BenchMemory(BenchMemory&& other) noexcept;
  BenchMemory& operator=(BenchMemory&&) = delete;
  ~BenchMemory();

  MutableBytes bytes() const { return bytes_; }
  /// The same for the same seed.
  void FillRandom(uint64_t seed) const;
  /// Touches every page, so that none is counted as new later.
  void Clear() const;

 private:
  BenchMemory(MutableBytes mapped, MutableBytes bytes) : mapped_(mapped), bytes_(bytes) {}
  MutableBytes mapped_;
  MutableBytes bytes_;  ///< of it
};

/// Seconds of processor time of this process so far.
double ProcessCpuSeconds();

/// The resident memory's growth from here to its peak. Where the system cannot start a peak anew, 0.
class RssWatch {
 public:
  RssWatch();
  int64_t PeakBeyondBytes() const;

 private:
  int64_t start_bytes_ = 0;
  bool reset_ = false;
};

}  // namespace assay::storage
