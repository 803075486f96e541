#include "engine/train/vit_strategy.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "engine/model/status_error.h"
#include "engine/train/device.h"

namespace assay::engine {
namespace {

/// The engine's name of a plugin with its knobs.
std::string strategy_name(const job::VitPlan& plan) {
  const job::PluginKnobs& knobs = plan.knobs;
  if (plan.plugin == "hybrid_parallel") {
    return knobs.zero_stage == 0 ? "torch_ddp" : "low_level_zero";
  }
  if (plan.plugin == "low_level_zero" && knobs.zero_stage == 2) {
    return "low_level_zero_2";
  }
  if (plan.plugin == "gemini" && knobs.placement == "auto") {
    return "gemini_auto";
  }
  return plan.plugin;
}

void set_communication_dtype(const std::string& name, ShardPolicy& policy) {
  if (name == "float8") {
    policy.gather_float8 = true;
  } else if (!name.empty()) {
    policy.reduce_dtype = parse_dtype(name);
  }
}

}  // namespace

ShardPolicy policy_of(const job::VitPlan& plan) {
  const job::PluginKnobs& knobs = plan.knobs;
  ShardPolicy policy = with_precision(shard_policy(strategy_name(plan)), plan.precision);
  policy.bucket_mib = knobs.bucket_mib;
  policy.overlap = knobs.overlap;
  policy.prefetch = knobs.prefetch;
  policy.keep_gathered_frac = 1.0 - knobs.shard_param_frac;
  policy.offload_optim_frac = knobs.offload_optim_frac;
  policy.offload_param_frac = knobs.offload_param_frac;
  policy.memory_cap_bytes = plan.memory_cap_bytes;
  policy.loss_scale.initial = plan.loss_scale;
  set_communication_dtype(knobs.communication_dtype, policy);
  return policy;
}

at::ScalarType compute_dtype_of(const job::VitPlan& plan) {
  if (plan.precision == "fp32") {
    return at::kFloat;
  }
  return plan.precision == "fp16" || plan.precision == "amp_fp16" ? at::kHalf : at::kBFloat16;
}

StrategyGroups::StrategyGroups(const job::VitPlan& plan, const ShardPolicy& policy, Communicator& world,
                               int64_t ranks_of_machine)
    : world_(world) {
  if (world.size() == 1) {
    return;
  }
  if (plan.knobs.tp_size * plan.knobs.pp_size > 1) {
    lay_out_mesh(plan, policy);
  } else if (policy.split != SplitOver::kGroup) {
    (policy.split == SplitOver::kAll ? groups_.shard : groups_.replicate) = &world;
  } else {
    lay_out_groups(static_cast<int>(plan.knobs.shard_ranks > 0 ? plan.knobs.shard_ranks : ranks_of_machine));
  }
}

void StrategyGroups::lay_out_mesh(const job::VitPlan& plan, const ShardPolicy& policy) {
  const MeshShape shape = value_or_throw(resolve_mesh(
      {.data = 0, .pipeline = static_cast<int>(plan.knobs.pp_size), .tensor = static_cast<int>(plan.knobs.tp_size)},
      world_.size()));
  mesh_ = std::make_unique<Mesh>(world_, shape);
  model_ = mesh_->joint_group({MeshAxis::kPipeline, MeshAxis::kTensor});
  groups_.model = model_.get();
  (policy.split == SplitOver::kAll ? groups_.shard : groups_.replicate) = axis(MeshAxis::kData);
}

Communicator* StrategyGroups::axis(MeshAxis axis) const {
  return mesh_ && mesh_->group(axis).size() > 1 ? &mesh_->group(axis) : nullptr;
}

void StrategyGroups::lay_out_groups(int width) {
  std::vector<int> sharers;
  std::vector<int> copies;
  for (int rank = 0; rank < world_.size(); ++rank) {
    if (rank / width == world_.rank() / width) {
      sharers.push_back(rank);
    }
    if (rank % width == world_.rank() % width) {
      copies.push_back(rank);
    }
  }
  shard_ = world_.split(sharers, "shard");
  replicate_ = world_.split(copies, "replica");
  groups_ = {shard_.get(), replicate_.get(), nullptr};
}

std::vector<std::pair<std::string, Communicator*>> StrategyGroups::named(Communicator& world) const {
  std::vector<std::pair<std::string, Communicator*>> groups = {{"world", &world}};
  if (shard_) {
    groups.emplace_back("shard", shard_.get());
  }
  if (replicate_) {
    groups.emplace_back("replica", replicate_.get());
  }
  for (const auto& [name, at] :
       {std::pair{"data", MeshAxis::kData}, {"tensor", MeshAxis::kTensor}, {"pipeline", MeshAxis::kPipeline}}) {
    if (Communicator* group = axis(at)) {
      groups.emplace_back(name, group);
    }
  }
  if (model_) {
    groups.emplace_back("model", model_.get());
  }
  return groups;
}

}  // namespace assay::engine
