// Trains the test model by a strategy, and without any, on the same data.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/mesh.h"
#include "engine/optim/optimizer.h"
#include "engine/shard/memory_ledger.h"
#include "engine/shard/mesh_groups.h"
#include "engine/shard/policy.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard/test_course.h"
#include "engine/shard/test_model.h"

namespace assay::engine::testing {

inline constexpr int64_t kMicroBatches = 4;  // of a step, over all ranks
inline const OptimizerOptions kOptimizer{.weight_decay = 0.1};

/// How a run is made, apart from strategy and ranks.
struct Setting {
  TestModelOptions model = {};
  int64_t first_step = 0;
  int64_t steps = 20;
  double max_norm = 0.5;
  bool no_sync = false;
  bool use_differs = false;   ///< the unused parameter is used in the first half of the micro-batches
  int expert_ranks = 1;       ///< that divide the experts of a layer
  bool device_apart = false;  ///< the engine is told of its device's memory as if host memory were not the same
  OptimizerOptions optimizer = kOptimizer;
  std::function<void(ShardEngine&, Communicator&)> before = {};  ///< the first step
  std::function<void(ShardEngine&, Communicator&)> after = {};   ///< the last
};

/// What a run by a strategy shows.
struct ShardedCourse : Course {
  std::vector<std::string> unused;
  std::vector<bool> states_offloaded;  ///< by unit
  MemoryByKind memory{};               ///< at the end, the device's and the host's
};

double learning_rate(int64_t step);

/// One rank, no engine: the whole batch by libtorch's own accumulation and the unsharded optimiser.
Course train_alone(const Setting& setting);

/// The strategy of that name; where it has chunks they are so small that those of the test model span units and are
/// spanned by them.
ShardPolicy small_policy(std::string_view name, int64_t chunk_elements = 2600);

/// The groups of one rank for a policy.
struct RankGroups {
  Mesh mesh;
  ShardGroups groups;

  RankGroups(Communicator& world, SplitOver split, int expert_ranks = 1)
      : mesh(world, shape_of(world.size() / expert_ranks, split, expert_ranks)), groups(groups_of_mesh(mesh, split)) {}

  ExpertPlace expert_place() const {
    const auto first = [](Communicator* ranks) { return ranks == nullptr || ranks->rank() == 0; };
    return {groups.experts, first(groups.expert_shard) && first(groups.expert_replicate)};
  }

 private:
  /// Groups of experts lie within those that split everything.
  static MeshShape shape_of(int holders, SplitOver split, int expert_ranks) {
    constexpr int kRanksOfGroup = 2;
    const int in_group = std::min(holders, std::max(1, kRanksOfGroup / expert_ranks));
    const int shard = split == SplitOver::kAll ? holders : split == SplitOver::kGroup ? in_group : 1;
    return {.data = holders / shard, .shard = shard, .expert = expert_ranks};
  }
};

/// One rank's part: its share of the micro-batches of each step.
ShardedCourse train_rank(Communicator& world, const ShardPolicy& policy, const Setting& setting);

/// What rank 0 saw. All ranks must end with the same weights, to the bit.
ShardedCourse train_sharded(int ranks, const ShardPolicy& policy, const Setting& setting);

}  // namespace assay::engine::testing
