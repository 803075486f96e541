// How the ranks of a training are arranged, and what one of them holds, in the events' terms.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/unit.h"
#include "engine/shard/memory_ledger.h"
#include "engine/train/strategy.h"
#include "job/parallel_event.h"

namespace assay::engine {

/// All but the plan's own names.
job::Topology topology_of(const StrategyGroups& groups, const std::vector<ParameterUnit>& units);

/// The engine's bytes by kind, `activations` and temporaries, which are the rest of `peak`. Where the CPU is the
/// device, offloaded state is part of the peak, and stands in host_bytes.
job::MemoryLedger ledger_event(const MemoryByKind& bytes, int64_t activations, int64_t peak, bool on_cpu);

/// All kinds together. On the CPU what is offloaded takes the same memory.
int64_t total_bytes(const MemoryByKind& bytes, bool on_cpu);

}  // namespace assay::engine
