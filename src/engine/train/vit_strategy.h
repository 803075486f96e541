// From a plan's plugin, knobs and precision to the settings of the sharding engine and of the model.
#pragma once

#include <c10/core/ScalarType.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/shard/policy.h"
#include "engine/shard/shard_context.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// Throws StatusError for what this engine does not do: tensor and pipeline ranks.
ShardPolicy policy_of(const job::VitPlan& plan);

/// What the model computes in beside its parameters.
at::ScalarType compute_dtype_of(const job::VitPlan& plan);

/// The groups that a policy splits `world` into. `world` outlives it.
class StrategyGroups {
 public:
  StrategyGroups(const job::VitPlan& plan, const ShardPolicy& policy, Communicator& world, int64_t ranks_of_machine);

  ShardGroups groups() const { return groups_; }
  /// All groups that carry collectives, `world` first, under the names that events have for them.
  std::vector<std::pair<std::string, Communicator*>> named(Communicator& world) const;
  int64_t shard_ranks() const { return groups_.shard == nullptr ? 1 : groups_.shard->size(); }

 private:
  std::unique_ptr<Communicator> shard_;
  std::unique_ptr<Communicator> replicate_;
  ShardGroups groups_;
};

}  // namespace assay::engine
