// What every part of the sharding engine needs of its surroundings.
#pragma once

#include <string>

#include "engine/comm/communicator.h"
#include "engine/shard/flat_buffer.h"
#include "engine/shard/memory_ledger.h"
#include "engine/shard/policy.h"

namespace assay::engine {

/// The ranks that split one copy of everything, the ranks that hold copies of this rank's part, and the ranks that hold
/// other parts of the same model (tensor and pipeline ranks), with which gradient norm and overflow are agreed on; of
/// these, `tensor` have parts of the same layers, and `ends` the first and the last layers. Null: this rank alone. All
/// outlive the engine.
///
/// Where the experts of a layer are divided, `experts` are the ranks that hold different ones of them, and exchange
/// tokens; of the ranks that hold the same experts as this one, `expert_shard` and `expert_replicate` are what `shard`
/// and `replicate` are for everything else. All of them see different rows: shard x replicate has as many ranks as
/// experts x expert_shard x expert_replicate. Null `experts`: every rank holds all experts, which are then parameters
/// like any other. Of a mesh (MeshAxis), by ShardPolicy::split, as groups_of_mesh() makes them:
///   kNobody  replicate = data + expert            expert_replicate = data
///   kAll     shard = shard + expert               expert_shard = shard
///   kGroup   both: shard + expert between data    both: shard between data
/// Rajbhandari et al. 2022, "DeepSpeed-MoE".
struct ShardGroups {
  Communicator* shard = nullptr;
  Communicator* replicate = nullptr;
  Communicator* model = nullptr;
  Communicator* tensor = nullptr;
  Communicator* ends = nullptr;
  Communicator* experts = nullptr;
  Communicator* expert_shard = nullptr;
  Communicator* expert_replicate = nullptr;
};

/// The ranks that hold the same parameters, which each of them has gradients of.
struct DataRanks {
  Communicator* shard = nullptr;      ///< as in ShardGroups
  Communicator* replicate = nullptr;  ///< as in ShardGroups
  /// Puts right the average over these ranks: an expert's gradient on one of them is already the sum over all ranks
  /// that send it tokens.
  double gradient_factor = 1;

  int64_t shard_rank() const { return shard == nullptr ? 0 : shard->rank(); }
  int64_t shard_ranks() const { return shard == nullptr ? 1 : shard->size(); }
  int64_t replicas() const { return replicate == nullptr ? 1 : replicate->size(); }
  bool first_replica() const { return replicate == nullptr || replicate->rank() == 0; }
  /// Its values are those that all begin with.
  bool is_first() const { return shard_rank() == 0 && first_replica(); }
};

/// Which of a unit's data stays gathered or goes to host memory.
struct UnitPlacement {
  bool keep_gathered = false;
  bool offload_optimizer = false;
  bool offload_parameters = false;
  bool optimizer_yields = false;  ///< its states begin in host memory and may move
};

/// Shared by the parts of one engine, which owns it.
struct ShardContext {
  ShardPolicy policy;
  ShardGroups groups;
  c10::Device device = c10::kCPU;
  MemoryLedger ledger;
  AllocateFlat allocate;       ///< where the model computes
  AllocateFlat allocate_host;  ///< pinned where that helps

  bool divides_experts() const { return groups.experts != nullptr; }
  /// Of experts that are divided, or of everything else.
  DataRanks ranks_of(bool expert) const {
    return expert ? DataRanks{groups.expert_shard, groups.expert_replicate, 1.0 / groups.experts->size()}
                  : DataRanks{groups.shard, groups.replicate};
  }
};

}  // namespace assay::engine
