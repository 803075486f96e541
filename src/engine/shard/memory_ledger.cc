#include "engine/shard/memory_ledger.h"

#include <algorithm>

namespace assay::engine {

std::string_view memory_kind_name(MemoryKind kind) {
  static constexpr std::array<std::string_view, kMemoryKinds> kNames = {"parameters", "gradients",     "master",
                                                                        "moments",    "communication", "offloaded"};
  return kNames[static_cast<size_t>(kind)];
}

void MemoryLedger::add(MemoryKind kind, int64_t bytes) {
  live_[static_cast<size_t>(kind)] += bytes;
  if (kind != MemoryKind::kOffloaded) {
    live_total_ += bytes;
  }
  peak_with_offloaded_ = std::max(peak_with_offloaded_, live_with_offloaded());
  if (live_total_ > peak_total_) {
    take_peak();
  }
}

void MemoryLedger::reset_peak() {
  take_peak();
  peak_with_offloaded_ = live_with_offloaded();
}

void MemoryLedger::take_peak() {
  peak_total_ = live_total_;
  at_peak_ = live_;
}

}  // namespace assay::engine
