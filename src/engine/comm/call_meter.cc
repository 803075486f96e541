#include "engine/comm/call_meter.h"

namespace assay::engine {

void CallMeter::add_call(const Call& call) {
  const std::lock_guard lock(mutex_);
  CollectiveStats& stats = by_kind_[static_cast<size_t>(call.kind)];
  ++stats.calls;
  stats.bytes += call.bytes();
}

void CallMeter::add_busy(CallKind kind, double seconds) {
  const std::lock_guard lock(mutex_);
  by_kind_[static_cast<size_t>(kind)].busy_seconds += seconds;
}

void CallMeter::add_exposed(CallKind kind, double seconds) {
  const std::lock_guard lock(mutex_);
  by_kind_[static_cast<size_t>(kind)].exposed_seconds += seconds;
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
