// What collectives cost, summed by kind, and told to an observer one by one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/call.h"
#include "engine/comm/call_observer.h"
#include "engine/comm/communicator.h"
#include "engine/comm/wait_clock.h"

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
  /// When a collective itself began, and how long its caller had waited until then.
  struct Beginning {
    double seconds = 0;
    double waited = 0;
  };
  Beginning begin_busy() const;
  /// The collective itself ran from `beginning` until now.
  void add_busy(const Call& call, const Beginning& beginning);
  /// Runs `body`, in which its caller starts it or waits for it.
  void expose(const CallName& call, const std::function<void()>& body);
  /// Takes waits in `other`'s group for waits of this one's caller, and the other way round. Before the first call.
  void share_waits(const CallMeter& other) { waits_ = other.waits_; }
  /// Empty: nobody. Not while collectives are under way.
  void set_observer(std::shared_ptr<CallObserver> observer);
  /// Kinds that were called, in a fixed order.
  std::vector<CollectiveStats> stats() const;
  void reset();

 private:
  mutable std::mutex mutex_;
  std::array<CollectiveStats, kCallKinds> by_kind_;  // protected by mutex_
  std::shared_ptr<CallObserver> observer_;
  std::shared_ptr<WaitClock> waits_ = std::make_shared<WaitClock>();
};

}  // namespace assay::engine
