#include "engine/shard/sharded_adamw.h"

#include <ATen/core/grad_mode.h>

#include <map>
#include <utility>

namespace assay::engine {

/// What one step() launches: stretches by where they are and by step number, and the copies that the kernel does not
/// make.
struct ShardedAdamw::Updates {
  std::map<std::pair<c10::DeviceType, int64_t>, std::vector<AdamwTensors>> by_device_and_step;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;  ///< target, source
};

ShardedAdamw::ShardedAdamw(ShardContext& context, std::vector<FlatGroup*> groups, const OptimizerOptions& options)
    : groups_(std::move(groups)), options_(options) {
  for (const FlatGroup* group : groups_) {
    const at::Tensor& master = group->weights.master();
    const bool offloaded = group->weights.optimizer_offloaded();
    const auto moment = [&] {
      FlatBuffer& buffer = moments_.emplace_back(
          offloaded ? context.allocate_host : context.allocate, master.numel(), master.scalar_type(),
          offloaded ? MemoryKind::kOffloaded : MemoryKind::kMoments, context.ledger);
      return buffer.flat().zero_();
    };
    const auto& parameters = group->weights.layout().parameters();
    states_.push_back({moment(), moment(), std::vector<int64_t>(parameters.size())});
    std::vector<bool>& decays = decays_.emplace_back();
    for (const FlatParameter& p : parameters) {
      decays.push_back(applies_weight_decay(p.name));
    }
  }
}

void ShardedAdamw::add_group(size_t group, const std::vector<bool>& used, size_t first_used, Updates& updates) {
  const FlatWeights& weights = groups_[group]->weights;
  GroupState& state = states_[group];
  for (size_t i = 0; i < state.steps.size(); ++i) {
    if (used[first_used + i]) {
      ++state.steps[i];
      counted_.emplace_back(group, i);
    }
  }
  const at::Tensor& master = weights.master();
  const at::Tensor gradient = groups_[group]->gradients->reduced().to(master.device());
  at::Tensor copy = weights.master_copy();
  if (copy.defined() && (copy.device() != master.device() || copy.scalar_type() == master.scalar_type())) {
    updates.copies.emplace_back(copy, master);
    copy = at::Tensor();
  }
  for (const ShardSlice& slice : weights.layout().slices(weights.ranks().shard_rank())) {
    if (!used[first_used + slice.parameter]) {
      continue;
    }
    const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, slice.in_shard, slice.elements); };
    updates.by_device_and_step[{master.device().type(), state.steps[slice.parameter]}].push_back(
        {.parameter = part(master),
         .gradient = part(gradient),
         .first_moment = part(state.first_moment),
         .second_moment = part(state.second_moment),
         .decay = decays_[group][slice.parameter],
         .copy = copy.defined() ? part(copy) : at::Tensor()});
  }
}

void ShardedAdamw::step(double learning_rate, const GradientRule& rule, const std::vector<bool>& used) {
  const at::NoGradGuard no_grad;
  counted_.clear();
  Updates updates;
  size_t first_used = 0;
  for (size_t i = 0; i < groups_.size(); ++i) {
    add_group(i, used, first_used, updates);
    first_used += groups_[i]->weights.layout().parameters().size();
  }
  for (const auto& [device_and_step, tensors] : updates.by_device_and_step) {
    GradientRule local = rule;
    local.stats = rule.stats.to(tensors.front().parameter.device());
    adamw_step(tensors, adamw_scalars(options_, learning_rate, device_and_step.second), local);
  }
  for (const auto& [target, source] : updates.copies) {
    target.copy_(source.to(target.scalar_type()), /*non_blocking=*/true);
  }
}

void ShardedAdamw::forget_last_step() {
  for (const auto& [group, parameter] : counted_) {
    --states_[group].steps[parameter];
  }
  counted_.clear();
}

}  // namespace assay::engine
