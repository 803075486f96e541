// What collectives cost, summed by kind.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/comm/call.h"
#include "engine/comm/communicator.h"

namespace assay::engine {

/// Safe from several threads.
class CallMeter {
 public:
  void add_call(const Call& call);
  void add_busy(CallKind kind, double seconds);
  void add_exposed(CallKind kind, double seconds);
  /// Kinds that were called, in a fixed order.
  std::vector<CollectiveStats> stats() const;
  void reset();

 private:
  mutable std::mutex mutex_;
  std::array<CollectiveStats, kCallKinds> by_kind_;  // protected by mutex_
};

}  // namespace assay::engine
