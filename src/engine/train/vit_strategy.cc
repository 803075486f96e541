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
    if (knobs.tp_size * knobs.pp_size > 1) {
      throw StatusError(Status::Unsupported(
          fmt::format("plugin hybrid_parallel with tp_size {} and pp_size {}: tensor and pipeline ranks are not "
                      "supported yet, set both to 1",
                      knobs.tp_size, knobs.pp_size)));
    }
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
                               int64_t ranks_of_machine) {
  if (world.size() == 1) {
    return;
  }
  if (policy.split != SplitOver::kGroup) {
    (policy.split == SplitOver::kAll ? groups_.shard : groups_.replicate) = &world;
    return;
  }
  const auto width = static_cast<int>(plan.knobs.shard_ranks > 0 ? plan.knobs.shard_ranks : ranks_of_machine);
  std::vector<int> sharers;
  std::vector<int> copies;
  for (int rank = 0; rank < world.size(); ++rank) {
    if (rank / width == world.rank() / width) {
      sharers.push_back(rank);
    }
    if (rank % width == world.rank() % width) {
      copies.push_back(rank);
    }
  }
  shard_ = world.split(sharers, "shard");
  replicate_ = world.split(copies, "replica");
  groups_ = {shard_.get(), replicate_.get()};
}

std::vector<std::pair<std::string, Communicator*>> StrategyGroups::named(Communicator& world) const {
  std::vector<std::pair<std::string, Communicator*>> groups = {{"world", &world}};
  if (shard_) {
    groups.emplace_back("shard", shard_.get());
  }
  if (replicate_) {
    groups.emplace_back("replica", replicate_.get());
  }
  return groups;
}

}  // namespace assay::engine
