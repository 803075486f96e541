// From a plan's plugin, knobs and precision to the settings of the sharding engine and of the model.
#pragma once

#include <c10/core/ScalarType.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/mesh.h"
#include "engine/shard/policy.h"
#include "engine/shard/shard_context.h"
#include "engine/shard/tensor_parallel.h"
#include "job/tune_plan.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// How the plan's data ranks share the work.
ShardPolicy policy_of(const job::VitPlan& plan);
/// The same for a language model, whose parameters keep the dtypes that they have on one rank: the plan's, and float32
/// of adapters. A float16 parameter has a float32 copy that the optimiser updates.
ShardPolicy policy_of(const job::TunePlan& plan);

/// How the losses of a language model are scaled; nothing: not at all.
std::optional<LossScaleOptions> loss_scale_of(const job::TunePlan& plan);

/// Whether gradients of a step's micro-batches are added up before they are reduced, whatever the plugin: as asked for,
/// and over pipeline stages always.
bool reduces_once(const job::ParallelPlan& plan);

/// What the model computes in beside its parameters.
at::ScalarType compute_dtype_of(const job::VitPlan& plan);

/// The groups that a plan splits `world` into: data ranks by its policy, and tensor ranks and pipeline stages within
/// each of them. `world` outlives it.
class StrategyGroups {
 public:
  StrategyGroups(const job::ParallelPlan& plan, const ShardPolicy& policy, Communicator& world,
                 int64_t ranks_of_machine);

  Communicator& world() const { return world_; }
  ShardGroups groups() const { return groups_; }
  /// All groups that carry collectives, `world` first, under the names that events have for them.
  std::vector<std::pair<std::string, Communicator*>> named() const;
  /// Whether there are others than the world.
  bool splits_world() const { return mesh_.splits_world(); }
  int64_t shard_ranks() const { return groups_.shard == nullptr ? 1 : groups_.shard->size(); }
  /// Those that read different rows or images.
  int64_t data_rank() const;
  int64_t data_ranks() const { return int64_t{1} * mesh_.shape().data * mesh_.shape().shard; }
  /// Null where there is one.
  Communicator* tensor() const { return tensor_; }
  Communicator* pipeline() const { return pipeline_; }
  /// The same ranks once more, for what goes back: a backend that sends a pair's messages one after the other
  /// (NCCL) must not let an activation wait for a gradient that comes towards it.
  Communicator* pipeline_back() const { return pipeline_back_.get(); }
  int64_t tensor_ranks() const { return mesh_.shape().tensor; }
  int64_t stages() const { return mesh_.shape().pipeline; }
  /// Of the ranks with one model one counts rows and losses for all: the first tensor rank of the stage that ends the
  /// model, which has the loss. Whether this rank, whose stage does so or not, is that one.
  bool counts(bool ends_model) const { return ends_model && (tensor_ == nullptr || tensor_->rank() == 0); }
  /// Of the ranks with one model together, from 0.
  int64_t model_rank() const { return groups_.model == nullptr ? 0 : groups_.model->rank(); }

 private:
  void join_ends();

  Communicator& world_;
  Mesh mesh_;
  ShardGroups groups_;
  Communicator* tensor_;
  Communicator* pipeline_;
  std::unique_ptr<Communicator> pipeline_back_;
  std::unique_ptr<Communicator> ends_;
};

/// What joins the tensor ranks in the layers of `model`, of which this rank has its part; null where layers are whole.
/// Groups and model outlive it.
std::unique_ptr<TensorParallel> join_tensor_ranks(const job::ParallelPlan& plan, const StrategyGroups& groups,
                                                  Splittable& model);

}  // namespace assay::engine
