#include "engine/comm/call_meter.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace assay::engine {

void CallMeter::add_call(const Call& call) {
  const std::lock_guard lock(mutex_);
  CollectiveStats& stats = by_kind_[static_cast<size_t>(call.kind)];
  ++stats.calls;
  stats.bytes += call.bytes();
}

CallMeter::Beginning CallMeter::begin_busy() const {
  const double now = MonotonicSeconds();
  return {.seconds = now, .waited = waits_->waited(now)};
}

void CallMeter::add_busy(const Call& call, const Beginning& beginning) {
  const double end = MonotonicSeconds();
  const double busy = end - beginning.seconds;
  const double in_the_open = waits_->waited(end) - beginning.waited;
  {
    const std::lock_guard lock(mutex_);
    CollectiveStats& stats = by_kind_[static_cast<size_t>(call.kind)];
    stats.busy_seconds += busy;
    stats.hidden_seconds += std::max(0.0, busy - in_the_open);
  }
  if (observer_) {
    observer_->on_run({to_string(call.kind), call.label, call.bytes(), beginning.seconds, end});
  }
}

void CallMeter::expose(const CallName& call, const std::function<void()>& body) {
  const double start = MonotonicSeconds();
  waits_->enter(start);
  try {
    body();
  } catch (...) {
    waits_->leave(MonotonicSeconds());
    throw;
  }
  const double end = MonotonicSeconds();
  waits_->leave(end);
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
