#include "engine/shard/sharded_adamw.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
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
    : context_(context), groups_(std::move(groups)), options_(options), moments_(groups_.size()) {
  for (size_t group = 0; group < groups_.size(); ++group) {
    const auto& parameters = groups_[group]->weights.layout().parameters();
    states_.push_back(
        {make_moment(group, 0).zero_(), make_moment(group, 1).zero_(), std::vector<int64_t>(parameters.size())});
    std::vector<bool>& decays = decays_.emplace_back();
    for (const FlatParameter& p : parameters) {
      decays.push_back(applies_weight_decay(p.name));
    }
  }
}

/// Uninitialised, beside the master.
at::Tensor ShardedAdamw::make_moment(size_t group, size_t which) {
  const FlatWeights& weights = groups_[group]->weights;
  const bool offloaded = weights.optimizer_offloaded();
  moments_[group][which] = std::make_unique<FlatBuffer>(
      offloaded ? context_.allocate_host : context_.allocate, weights.master().numel(), weights.master().scalar_type(),
      offloaded ? MemoryKind::kOffloaded : MemoryKind::kMoments, context_.ledger);
  return moments_[group][which]->flat();
}

void ShardedAdamw::move_states(FlatGroup& group, bool to_host) {
  const at::NoGradGuard no_grad;
  to_host ? group.weights.offload_master() : group.weights.return_master();
  const auto place = static_cast<size_t>(std::ranges::find(groups_, &group) - groups_.begin());
  for (const auto& [which, moment] :
       {std::pair<size_t, at::Tensor*>(0, &states_[place].first_moment), {1, &states_[place].second_moment}}) {
    const at::Tensor before = *moment;
    const std::unique_ptr<FlatBuffer> keeps = std::move(moments_[place][which]);
    *moment = make_moment(place, which).copy_(before);
  }
  group.gradients->offload_next(to_host);
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
