// Which part of a model a rank of a tensor x pipeline mesh has, and the whole model out of all parts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/checkpoint/held_state.h"
#include "engine/comm/communicator.h"
#include "engine/model/causal_lm.h"
#include "engine/model/model_part.h"
#include "engine/model/tensor_split.h"
#include "engine/shard/full_weights.h"
#include "engine/shard/shard_engine.h"
#include "engine/train/strategy.h"
#include "job/parallel_plan.h"

namespace assay::engine {

/// A place among the ranks that hold one model together.
struct PartPlace {
  int64_t stage = 0;
  int64_t stages = 1;
  TensorPlace tensor;

  /// Of a model with so many layers.
  ModelPart part_of(int64_t layers) const;
};

/// The place of the model rank `index`, of those with one model in order of rank: tensor ranks of a stage lie together.
PartPlace place_of(const job::ParallelPlan& plan, int64_t index);

/// The part that this rank has of a model divided by `rules`.
HeldPart held_part(const job::ParallelPlan& plan, const StrategyGroups& groups, SplitRules rules, bool begins_model);

/// The most that gather_parts() sends at once: a rank that waits for others waits no longer than this takes.
inline constexpr int64_t kPartPieceBytes = int64_t{16} << 20;

/// All parameters under their names, in the order of the model, on the first of the `model_ranks` that hold one model
/// divided by `rules`; the others get nothing. `own`: this rank's, on the CPU. Ranks of a model call it together,
/// however long it takes in all. null `model_ranks`: `own` is the model.
std::vector<NamedTensor> gather_parts(std::vector<NamedTensor> own, SplitRules rules, Communicator* model_ranks);

/// The whole weights of these kinds, in `dtype` or as the optimiser has them, on the first rank of the job; the others
/// get nothing. Of a model divided by `rules` over the ranks of `groups`, all of which call it together.
std::vector<NamedTensor> gather_weights(ShardEngine& engine, const StrategyGroups& groups, SplitRules rules,
                                        WeightKinds kinds = WeightKinds::kAll,
                                        std::optional<at::ScalarType> dtype = {});

}  // namespace assay::engine
