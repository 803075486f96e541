// Memory of a benchmark: large, on huge pages where the system has them, filled with what nothing compresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

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

/// Takes pages of new memory on a thread of its own, in order, so that whoever fills the memory finds them there. Ends
/// early with its owner. Where the system cannot do that ahead, they are taken on first use as ever.
class PagesAhead {
 public:
  explicit PagesAhead(std::vector<MutableBytes> memory);

 private:
  std::jthread thread_;
};

/// Takes `bytes` of new memory and gives them back. A virtual machine may have handed its free pages to its host, which
/// takes many times longer to return one than the system needs to clear it: afterwards that is over.
Status WarmMemory(int64_t bytes);

/// Seconds of processor time of this process so far.
double ProcessCpuSeconds();

/// The growth of resident memory that no file backs, from here to its peak as far as looking every few milliseconds
/// shows it: what is mapped of files is the page cache's. Shared memory does not count.
class AnonymousMemoryWatch {
 public:
  AnonymousMemoryWatch();
  int64_t PeakBeyondBytes() const;

 private:
  int64_t start_bytes_;
  std::atomic<int64_t> peak_bytes_;
  std::jthread looks_;
};

/// The resident memory's growth from here to its peak. Nothing where the system cannot start a peak anew.
class RssWatch {
 public:
  RssWatch();
  std::optional<int64_t> PeakBeyondBytes() const;

 private:
  int64_t start_bytes_ = 0;
  bool reset_ = false;
};

}  // namespace assay::storage
