#include "engine/train/strategy.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/model/status_error.h"
#include "engine/shard/mesh_groups.h"
#include "engine/shard/sequence_parallel.h"
#include "engine/train/device.h"

namespace assay::engine {
namespace {

/// Data ranks lie along the axis over which the policy splits, or along both where it splits over groups.
MeshShape mesh_of(const job::ParallelPlan& plan, SplitOver split, int ranks, int64_t ranks_of_machine) {
  MeshShape shape{.pipeline = static_cast<int>(plan.knobs.pp_size), .tensor = static_cast<int>(plan.knobs.tp_size)};
  (split == SplitOver::kAll ? shape.shard : shape.data) = 0;
  if (split == SplitOver::kGroup) {
    shape.shard = static_cast<int>(plan.knobs.shard_ranks > 0 ? plan.knobs.shard_ranks : ranks_of_machine);
  }
  return value_or_throw(resolve_mesh(shape, ranks));
}

ShardPolicy policy_of_plugin(const job::ParallelPlan& plan, std::string_view precision) {
  return policy_of(*value_or_throw(job::FindPlugin(plan.plugin)), plan.knobs, precision);
}

}  // namespace

ShardPolicy policy_of(const job::VitPlan& plan) {
  ShardPolicy policy = policy_of_plugin(plan, plan.precision);
  policy.memory_cap_bytes = plan.memory_budget_bytes;
  policy.loss_scale.initial = plan.loss_scale;
  policy.several_backwards = job::MicroBatches(plan) > 1;
  return policy;
}

ShardPolicy policy_of(const job::TunePlan& plan) {
  ShardPolicy policy = policy_of_plugin(plan, "fp32");
  policy.float32_master = plan.dtype == "float16";
  policy.memory_cap_bytes = plan.memory_budget_bytes;
  policy.several_backwards = plan.gradient_accumulation_steps * job::MicroBatches(plan) > 1;
  const std::optional<LossScaleOptions> scale = loss_scale_of(plan);
  policy.scale_loss = scale.has_value();
  policy.loss_scale = scale.value_or(LossScaleOptions{});
  return policy;
}

std::optional<LossScaleOptions> loss_scale_of(const job::TunePlan& plan) {
  const double scale = value_or_throw(job::LossScale(plan.loss_scale));
  if (scale == job::kAutoLossScale) {
    return plan.dtype == "float16" ? std::make_optional<LossScaleOptions>() : std::nullopt;
  }
  return scale > 0 ? std::make_optional<LossScaleOptions>({.initial = scale, .growth = 1, .backoff = 1}) : std::nullopt;
}

bool reduces_once(const job::ParallelPlan& plan) {
  return plan.knobs.no_sync || plan.knobs.pp_size > 1;
}

at::ScalarType compute_dtype_of(const job::VitPlan& plan) {
  if (plan.precision == "fp32") {
    return at::kFloat;
  }
  return plan.precision == "fp16" || plan.precision == "amp_fp16" ? at::kHalf : at::kBFloat16;
}

StrategyGroups::StrategyGroups(const job::ParallelPlan& plan, const ShardPolicy& policy, Communicator& world,
                               int64_t ranks_of_machine)
    : world_(world),
      mesh_(world, mesh_of(plan, policy.split, world.size(), ranks_of_machine)),
      groups_(groups_of_mesh(mesh_, policy.split)),
      tensor_(mesh_.group({MeshAxis::kTensor})),
      pipeline_(mesh_.group({MeshAxis::kPipeline})) {
  if (pipeline_ != nullptr) {
    pipeline_back_ =
        world.split(mesh_members(mesh_.shape(), {MeshAxis::kPipeline}, world.rank()), "pipeline gradients");
    join_ends();
  }
}

void StrategyGroups::join_ends() {
  const std::vector<int> stages = mesh_members(mesh_.shape(), {MeshAxis::kPipeline}, world_.rank());
  const bool at_end = world_.rank() == stages.front() || world_.rank() == stages.back();
  ends_ = world_.split(at_end ? std::vector<int>{stages.front(), stages.back()} : std::vector<int>{world_.rank()},
                       "pipeline ends");
  groups_.ends = at_end ? ends_.get() : nullptr;
}

int64_t StrategyGroups::data_rank() const {
  return int64_t{1} * mesh_.coordinate(MeshAxis::kData) * mesh_.shape().shard + mesh_.coordinate(MeshAxis::kShard);
}

std::vector<std::pair<std::string, Communicator*>> StrategyGroups::named() const {
  const bool parts = groups_.model != nullptr;
  const std::pair<const char*, Communicator*> all[] = {{parts ? "data" : "shard", groups_.shard},
                                                       {parts ? "data" : "replica", groups_.replicate},
                                                       {"tensor", tensor_},
                                                       {"pipeline", pipeline_},
                                                       {"pipeline gradients", pipeline_back_.get()},
                                                       {"pipeline ends", groups_.ends},
                                                       {"model", groups_.model}};
  std::vector<std::pair<std::string, Communicator*>> named = {{"world", &world_}};
  for (const auto& [name, group] : all) {
    const bool listed = std::ranges::count(named, group, &std::pair<std::string, Communicator*>::second) > 0;
    if (group != nullptr && !listed) {
      named.emplace_back(name, group);
    }
  }
  return named;
}

std::unique_ptr<TensorParallel> join_tensor_ranks(const job::ParallelPlan& plan, const StrategyGroups& groups,
                                                  Splittable& model) {
  if (groups.tensor() == nullptr) {
    return nullptr;
  }
  return plan.knobs.sequence_parallel ? std::make_unique<SequenceParallel>(model, *groups.tensor())
                                      : std::make_unique<TensorParallel>(model, *groups.tensor());
}

}  // namespace assay::engine
