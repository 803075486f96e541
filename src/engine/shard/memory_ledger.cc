#include "engine/shard/memory_ledger.h"

#include <array>

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
  if (live_total_ > device_.total) {
    device_ = {live_total_, live_};
  }
  if (live_with_offloaded() > with_offloaded_.total) {
    with_offloaded_ = {live_with_offloaded(), live_};
  }
}

void MemoryLedger::reset_peak() {
  device_ = {live_total_, live_};
  with_offloaded_ = {live_with_offloaded(), live_};
}

}  // namespace assay::engine
