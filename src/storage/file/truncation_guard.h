// Mapped files that another program cuts short while they are read.
#pragma once

#include <utility>

#include "storage/object_store.h"

namespace assay::storage {

/// While it lives, a read of `mapped` beyond the file's new end gives zeros, where the system would end the program
/// with SIGBUS; whoever reads asks afterwards whether the file is still the same. The first guard of the process
/// installs a handler of the signal, which leaves every other cause to whatever handled it before. Of guards beyond a
/// thousand at a time, the last have no effect. Safe from any thread.
class TruncationGuard {
 public:
  explicit TruncationGuard(Bytes mapped);
  TruncationGuard(TruncationGuard&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}
  TruncationGuard& operator=(TruncationGuard&&) = delete;
  ~TruncationGuard();

 private:
  int slot_;  ///< in the handler's table; -1: none
};

}  // namespace assay::storage
