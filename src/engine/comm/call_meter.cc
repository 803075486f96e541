#include "engine/comm/call_meter.h"

#include <utility>

#include "base/text.h"

namespace assay::engine {

void CallMeter::add_call(const Call& call) {
  const std::lock_guard lock(mutex_);
  CollectiveStats& stats = by_kind_[static_cast<size_t>(call.kind)];
  ++stats.calls;
  stats.bytes += call.bytes();
}

void CallMeter::add_busy(const Call& call, double start) {
  const double end = MonotonicSeconds();
  {
    const std::lock_guard lock(mutex_);
    by_kind_[static_cast<size_t>(call.kind)].busy_seconds += end - start;
  }
  if (observer_) {
    observer_->on_run({to_string(call.kind), call.label, call.bytes(), start, end});
  }
}

void CallMeter::add_exposed(const CallName& call, double start) {
  const double end = MonotonicSeconds();
  {
    const std::lock_guard lock(mutex_);
    by_kind_[static_cast<size_t>(call.kind)].exposed_seconds += end - start;
  }
  if (observer_) {
    observer_->on_wait({to_string(call.kind), call.label, call.bytes, start, end});
  }
}

void CallMeter::set_observer(std::shared_ptr<CallObserver> observer) {
  observer_ = std::move(observer);
}

std::vector<CollectiveStats> CallMeter::stats() const {
  const std::lock_guard lock(mutex_);
  std::vector<CollectiveStats> called;
  for (int kind = 0; kind < kCallKinds; ++kind) {
    if (by_kind_[static_cast<size_t>(kind)].calls > 0) {
      called.push_back(by_kind_[static_cast<size_t>(kind)]);
      called.back().kind = to_string(static_cast<CallKind>(kind));
    }
  }
  return called;
}

void CallMeter::reset() {
  const std::lock_guard lock(mutex_);
  by_kind_ = {};
}

}  // namespace assay::engine
