#include "launch/memory_evidence.h"

namespace assay::launch {

bool MemoryEvidence::IsThisRuns() const {
  // What the system and its other programs need of an otherwise idle machine is below half of it, and what a run fails
  // to get is one more allocation.
  constexpr double kMostFree = 0.5;
  constexpr double kMostTaken = 0.75;
  const auto free = static_cast<double>(free_bytes);
  return killer_struck && free > 0 && free >= kMostFree * static_cast<double>(total_bytes) &&
         static_cast<double>(peak_bytes) >= kMostTaken * free;
}

}  // namespace assay::launch
