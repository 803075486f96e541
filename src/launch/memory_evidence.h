// Whether the kernel's out-of-memory killer struck for what this run used, or for what others did.
#pragma once

#include <cstdint>

namespace assay::launch {

struct MemoryEvidence {
  bool killer_struck = false;  ///< in our control group, or on the machine, during the run
  int64_t peak_bytes = 0;      ///< resident memory of the run's ranks at their largest, by the kernel's account
  int64_t free_bytes = 0;      ///< when the run began
  int64_t total_bytes = 0;     ///< of the machine, or of the control group's limit

  /// The killer struck, most was free when the run began, and the run took most of that.
  bool IsThisRuns() const;
};

}  // namespace assay::launch
