// What every part of the sharding engine needs of its surroundings.
#pragma once

#include <string>

#include "engine/comm/communicator.h"
#include "engine/shard/flat_buffer.h"
#include "engine/shard/memory_ledger.h"
#include "engine/shard/policy.h"

namespace assay::engine {

/// The ranks that split one copy of everything, the ranks that hold copies of this rank's part, and the ranks that hold
/// other parts of the same model (tensor and pipeline ranks), with which gradient norm and overflow are agreed on.
/// Null: this rank alone. All outlive the engine.
struct ShardGroups {
  Communicator* shard = nullptr;
  Communicator* replicate = nullptr;
  Communicator* model = nullptr;
};

/// Which of a unit's data stays gathered or goes to host memory.
struct UnitPlacement {
  bool keep_gathered = false;
  bool offload_optimizer = false;
  bool offload_parameters = false;
};

/// Shared by the parts of one engine, which owns it.
struct ShardContext {
  ShardPolicy policy;
  ShardGroups groups;
  c10::Device device = c10::kCPU;
  MemoryLedger ledger;
  AllocateFlat allocate;       ///< where the model computes
  AllocateFlat allocate_host;  ///< pinned where that helps

  int64_t shard_rank() const { return groups.shard == nullptr ? 0 : groups.shard->rank(); }
  int64_t shard_ranks() const { return groups.shard == nullptr ? 1 : groups.shard->size(); }
  int64_t model_ranks() const { return groups.model == nullptr ? 1 : groups.model->size(); }
  int64_t replicas() const { return groups.replicate == nullptr ? 1 : groups.replicate->size(); }
};

}  // namespace assay::engine
