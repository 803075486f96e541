// What collectives cost, summed by kind, and told to an observer one by one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/call.h"
#include "engine/comm/call_observer.h"
#include "engine/comm/communicator.h"

namespace assay::engine {

/// What stays of a call when its buffers are gone.
struct CallName {
  CallKind kind = CallKind::kBarrier;
  std::string label;
  int64_t bytes = 0;
};

/// Safe from several threads.
class CallMeter {
 public:
  void add_call(const Call& call);
  /// The collective itself ran from `start` (MonotonicSeconds()) until now.
  void add_busy(const Call& call, double start);
  /// Its caller started it, or waited for it, from `start` until now.
  void add_exposed(const CallName& call, double start);
  /// Empty: nobody. Not while collectives are under way.
  void set_observer(std::shared_ptr<CallObserver> observer);
  /// Kinds that were called, in a fixed order.
  std::vector<CollectiveStats> stats() const;
  void reset();

 private:
  mutable std::mutex mutex_;
  std::array<CollectiveStats, kCallKinds> by_kind_;  // protected by mutex_
  std::shared_ptr<CallObserver> observer_;
};

}  // namespace assay::engine
