#include "engine/shard/shard_engine.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/kernels/gradient_rule.h"
#include "engine/kernels/memory.h"
#include "engine/shard/stored_units.h"
#include "engine/shard/unit_placement.h"

namespace assay::engine {
namespace {

void check_ranks(const ShardPolicy& policy, const DataRanks& ranks) {
  if (policy.split == SplitOver::kNobody && ranks.shard_ranks() > 1) {
    throw std::invalid_argument("this strategy splits nothing, but was given a group of ranks to split over");
  }
  if (policy.split == SplitOver::kAll && ranks.replicas() > 1) {
    throw std::invalid_argument("this strategy splits over all ranks, but was given a group of replicas");
  }
}

void check_groups(const ShardPolicy& policy, const ShardContext& context) {
  const DataRanks all = context.ranks_of(/*expert=*/false);
  check_ranks(policy, all);
  if (!context.divides_experts()) {
    return;
  }
  const DataRanks holders = context.ranks_of(/*expert=*/true);
  check_ranks(policy, holders);
  const int64_t sharing = context.groups.experts->size();
  const int64_t holding = holders.shard_ranks() * holders.replicas();
  if (sharing * holding != all.shard_ranks() * all.replicas()) {
    throw std::invalid_argument(fmt::format(
        "{} ranks that share the experts times {} that hold the same ones are not the {} data ranks: give groups of "
        "one mesh",
        sharing, holding, all.shard_ranks() * all.replicas()));
  }
}

}  // namespace

ShardEngine::ShardEngine(Shardable& model, const ShardPolicy& policy, const ShardGroups& groups,
                         const OptimizerOptions& options, WeightBudget::Probe probe)
    : model_(model), scaler_(policy.loss_scale) {
  context_.policy = policy;
  context_.groups = groups;
  check_groups(policy, context_);
  const std::vector<ParameterUnit> units = model.units();
  set_allocators(units.front().parameters.front().tensor->device());
  if (context_.device.is_cpu() && !probe) {
    context_.policy.yielding_optim_frac = 0;
  }
  make_units(units);
  if (!probe && !context_.device.is_meta()) {
    probe = LiveTensorBytes;
  }
  reducer_ = std::make_unique<GradientReducer>(context_, units_);
  optimizer_ = std::make_unique<ShardedAdamw>(context_, reducer_->groups(), options);
  schedule_ = std::make_unique<WeightSchedule>(context_, units_, reads_, *optimizer_, std::move(probe));
  watch_gradients();
  model_.set_unit_hooks(this);
}

void ShardEngine::set_allocators(c10::Device device) {
  context_.device = device;
  Communicator* memory = context_.groups.shard != nullptr ? context_.groups.shard : context_.groups.replicate;
  context_.allocate = [memory, device](int64_t elements, at::ScalarType dtype) {
    return memory != nullptr && !device.is_meta() ? memory->allocate(elements, dtype)
                                                  : at::empty({elements}, at::TensorOptions(dtype).device(device));
  };
  context_.allocate_host = [device](int64_t elements, at::ScalarType dtype) {
    const at::TensorOptions options = at::TensorOptions(dtype).device(device.is_cuda() ? c10::kCPU : device);
    return at::empty({elements}, options.pinned_memory(device.is_cuda()));
  };
}

ShardEngine::~ShardEngine() {
  model_.set_unit_hooks(nullptr);
  for (const auto& unit : units_) {
    for (const auto& group : unit->groups) {
      if (group->weights.trainable()) {
        for (const at::Tensor& leaf : group->weights.leaves()) {
          unwatch_gradient(leaf);
        }
      }
    }
  }
}

void ShardEngine::make_units(const std::vector<ParameterUnit>& units) {
  const StoredUnits stored = store_units(context_, units);
  const std::vector<UnitPlacement> placements = place_units(context_.policy, stored.units);
  for (size_t i = 0; i < stored.units.size(); ++i) {
    units_.push_back(std::make_unique<ShardUnit>(context_, stored.units[i], placements[i]));
  }
  reads_ = stored.reads;
  find_leaves(units);
}

void ShardEngine::find_leaves(const std::vector<ParameterUnit>& units) {
  std::map<std::string_view, size_t> unit_of;
  for (size_t u = 0; u < units.size(); ++u) {
    for (const ParameterRef& parameter : units[u].parameters) {
      unit_of[parameter.name] = u;
    }
  }
  leaves_of_.resize(units.size());
  for (size_t s = 0; s < units_.size(); ++s) {
    for (size_t g = 0; g < units_[s]->groups.size(); ++g) {
      const FlatWeights& weights = units_[s]->groups[g]->weights;
      for (size_t p = 0; weights.trainable() && p < weights.leaves().size(); ++p) {
        leaves_of_[unit_of.at(weights.layout().parameters()[p].name)].push_back({static_cast<int64_t>(s), g, p});
      }
    }
  }
}

void ShardEngine::watch_gradients() {
  for (const std::vector<TrainableLeaf>& leaves : leaves_of_) {
    for (const auto& [unit, group, parameter] : leaves) {
      watch_gradient(units_[unit]->groups[group]->weights.leaves()[parameter], *this, unit, group, parameter);
    }
  }
}

at::Tensor ShardEngine::before_forward(int64_t unit, const at::Tensor& input, bool again) {
  schedule_->use(unit, again ? Pass::kBackward : Pass::kForward);
  return mark_boundary(input, *this, unit, UnitEdge::kInput);
}

at::Tensor ShardEngine::after_forward(int64_t unit, const at::Tensor& output, bool again) {
  if (!again) {
    schedule_->forward_done(unit);
  }
  return mark_boundary(output, *this, unit, UnitEdge::kOutput);
}

void ShardEngine::backward_enters(int64_t unit) {
  schedule_->use(unit, Pass::kBackward);
}

void ShardEngine::backward_leaves(int64_t unit) {
  schedule_->backward_done(unit, !reduces_);
  for (const int64_t read : reads_[unit]) {
    ShardUnit& stored = *units_[read];
    if (reduces_ && !stored.shared && stored.readers.front() == unit) {
      reducer_->ready(stored);
    }
  }
}

void ShardEngine::gradient_ready(int64_t unit, size_t group, size_t parameter, const at::Tensor& gradient) {
  ShardUnit& owner = *units_[unit];
  owner.groups[group]->gradients->add(parameter, gradient);
  // Chunks wait until backward has left their units: what lies in memory then does not depend on autograd's order.
  if (--owner.gradients_missing == 0 && reduces_ && !owner.shared && !context_.policy.chunks) {
    reducer_->ready(owner);
  }
}

void ShardEngine::backward(const at::Tensor& loss, bool last, bool no_sync) {
  resolve_step();
  const double scale = context_.policy.scale_loss ? scaler_.scale() : 1.0;
  backward_from(loss, at::full_like(loss, scale), last, no_sync);
}

void ShardEngine::backward_from(const at::Tensor& output, const at::Tensor& gradient, bool last, bool no_sync) {
  resolve_step();
  begin_backward(last, no_sync);
  torch::autograd::backward({output}, {gradient});
  finish_backward();
}

void ShardEngine::begin_backward(bool last, bool no_sync) {
  reduces_ = last || !(no_sync || context_.policy.accumulate_whole);
  reducer_->open();
}

void ShardEngine::finish_backward() {
  schedule_->backward_over(!reduces_);
  if (reduces_) {
    reducer_->finish();
  }
}

std::vector<bool> ShardEngine::used_parameters() {
  std::vector<bool> used;
  unused_.clear();
  for (const FlatGroup* group : reducer_->groups()) {
    const std::vector<FlatParameter>& parameters = group->weights.layout().parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      used.push_back(group->gradients->used()[i]);
      if (!used.back()) {
        unused_.push_back(parameters[i].name);
      }
    }
  }
  return used;
}

at::Tensor ShardEngine::own_stats(bool experts) const {
  std::vector<at::Tensor> on_device;
  std::vector<at::Tensor> on_host;
  for (const at::Tensor& gradient : reducer_->reduced(experts)) {
    (gradient.device() == context_.device ? on_device : on_host).push_back(gradient);
  }
  const at::Tensor stats = gradient_stats(on_device).to(context_.device);
  return on_host.empty() ? stats : stats + gradient_stats(on_host).to(context_.device);
}

at::Tensor ShardEngine::stats_over_ranks(std::vector<bool>& used) {
  at::Tensor stats = stats_over_data_ranks(/*experts=*/false, used);
  if (context_.divides_experts()) {
    const at::Tensor of_experts = stats_over_data_ranks(/*experts=*/true, used);
    context_.groups.experts->all_reduce(of_experts, ReduceOp::kSum, "gradient norm of the experts")->wait();
    stats = stats + of_experts;
  }
  if (context_.groups.model != nullptr) {
    context_.groups.model->all_reduce(stats, ReduceOp::kSum, "gradient norm of the model")->wait();
  }
  return stats;
}

std::vector<size_t> ShardEngine::places_in_used(bool experts) const {
  std::vector<size_t> places;
  size_t place = 0;
  for (const FlatGroup* group : reducer_->groups()) {
    for (size_t i = 0; i < group->weights.layout().parameters().size(); ++i, ++place) {
      if (group->expert == experts) {
        places.push_back(place);
      }
    }
  }
  return places;
}

at::Tensor ShardEngine::stats_over_data_ranks(bool experts, std::vector<bool>& used) {
  const at::Tensor stats = own_stats(experts);
  const DataRanks ranks = context_.ranks_of(experts);
  const bool agree = context_.policy.ranks_differ_in_use;
  if (ranks.shard_ranks() == 1 && !(agree && ranks.replicas() > 1)) {
    return stats;
  }
  const std::vector<size_t> places = places_in_used(experts);
  std::vector<double> flags;
  std::ranges::transform(places, std::back_inserter(flags), [&](size_t place) { return used[place] ? 1.0 : 0.0; });
  const at::Tensor packed = at::empty({2 + (agree ? static_cast<int64_t>(flags.size()) : 0)}, stats.options());
  packed.narrow(0, 0, 2).copy_(stats);
  if (agree) {
    packed.narrow(0, 2, packed.numel() - 2).copy_(at::tensor(flags, at::kDouble));
  }
  if (ranks.shard_ranks() > 1) {
    ranks.shard->all_reduce(packed, ReduceOp::kSum, "gradient norm")->wait();
  }
  if (agree) {
    if (ranks.replicas() > 1) {
      ranks.replicate->all_reduce(packed, ReduceOp::kMax, "gradient norm")->wait();
    }
    const at::Tensor agreed = packed.cpu();
    for (size_t i = 0; i < places.size(); ++i) {
      used[places[i]] = agreed[static_cast<int64_t>(i) + 2].item<double>() > 0;
    }
  }
  return packed.narrow(0, 0, 2);
}

/// Ranks that take each other to be alike must be: a parameter that only some of them used would be updated with
/// another gradient, or not at all, on each. What they used is compared when the step's outcome is read.
void ShardEngine::check_same_use(const std::vector<bool>& used) {
  const DataRanks ranks = context_.ranks_of(/*expert=*/false);
  if (context_.policy.ranks_differ_in_use || ranks.shard_ranks() * ranks.replicas() == 1) {
    return;
  }
  constexpr size_t kExactInDouble = (size_t{1} << 52) - 1;
  std::vector<bool> held_by_all;
  for (const size_t place : places_in_used(/*experts=*/false)) {
    held_by_all.push_back(used[place]);
  }
  const auto hash = static_cast<double>(std::hash<std::vector<bool>>()(held_by_all) & kExactInDouble);
  pending_use_ = at::empty({2}, at::TensorOptions(at::kDouble).device(context_.device));
  pending_use_.narrow(0, 0, 1).fill_(hash);  // a copy from the host would wait for backward
  pending_use_.narrow(0, 1, 1).fill_(-hash);
  for (Communicator* group : {ranks.shard, ranks.replicate}) {
    if (group != nullptr && group->size() > 1) {
      group->all_reduce(pending_use_, ReduceOp::kMax, "parameters in use")->wait();
    }
  }
}

/// Of parameters that ranks of one model share: each has the gradient of its own part of the features, or of its own
/// use of them.
void ShardEngine::sum_shared_gradients() {
  const auto add_up = [this](Communicator* ranks, const FlatGroup& group) {
    const at::Tensor gradient = group.gradients->reduced();
    if (ranks != nullptr && gradient.defined()) {
      const at::Tensor sum = gradient.to(context_.device);
      ranks->all_reduce(sum, ReduceOp::kSum, "gradients of shared parameters")->wait();
      gradient.copy_(sum);
    }
  };
  for (const FlatGroup* group : reducer_->groups()) {
    if (group->sums_gradient) {
      add_up(context_.groups.tensor, *group);
    }
    if (group->at_both_ends) {
      add_up(context_.groups.ends, *group);
    }
  }
}

void ShardEngine::step(double learning_rate, double max_norm) {
  const at::NoGradGuard no_grad;
  resolve_step();
  std::vector<bool> used = used_parameters();
  const double scale = context_.policy.scale_loss ? scaler_.scale() : 1.0;
  report_ = {.loss_scale = scale};
  check_same_use(used);
  sum_shared_gradients();
  pending_stats_ = stats_over_ranks(used);
  optimizer_->step(learning_rate,
                   {.scale = 1.0 / scale, .max_norm = max_norm, .skip_non_finite = true, .stats = pending_stats_},
                   used);
  step_over();
}

void ShardEngine::step_over() {
  reducer_->step_over();
  schedule_->updated();
}

std::vector<MemoryByKind> ShardEngine::rehearse_step(bool no_sync) {
  std::vector<MemoryByKind> held;
  const int passes = context_.policy.several_backwards ? 2 : 1;
  for (int pass = 1; pass <= passes; ++pass) {
    rehearse_forward();
    held = rehearse_backward(pass == passes, no_sync);
  }
  step_over();
  return held;
}

void ShardEngine::rehearse_forward() {
  const at::Tensor nothing = at::empty({0}, at::TensorOptions(at::kFloat).device(context_.device));
  for (int64_t u = 0; u < static_cast<int64_t>(reads_.size()); ++u) {
    before_forward(u, nothing, false);
    after_forward(u, nothing, false);
  }
}

std::vector<MemoryByKind> ShardEngine::rehearse_backward(bool last, bool no_sync) {
  begin_backward(last, no_sync);
  const auto count = static_cast<int64_t>(reads_.size());
  std::vector<MemoryByKind> held(reads_.size() + 1);
  for (int64_t u = count; u-- > 0;) {
    backward_enters(u);
    if (u + 1 == count) {
      held.back() = context_.ledger.now();
    }
    for (const auto& [unit, group, parameter] : leaves_of_[u]) {
      gradient_ready(unit, group, parameter, units_[unit]->groups[group]->weights.leaves()[parameter].detach());
    }
    held[u] = context_.ledger.now();
    backward_leaves(u);
  }
  finish_backward();
  return held;
}

void ShardEngine::resolve_step() {
  if (!pending_stats_.defined()) {
    return;
  }
  if (const at::Tensor use = std::exchange(pending_use_, {}); use.defined()) {
    const at::Tensor host = use.cpu();
    if (host[0].item<double>() != -host[1].item<double>()) {
      throw std::runtime_error(
          "ranks used different parameters in one step, so that their copies of the model are no longer the same: let "
          "the strategy agree on it (ranks_differ_in_use)");
    }
  }
  report_.gradient_norm = gradient_norm(pending_stats_, 1.0 / report_.loss_scale);
  report_.skipped = has_non_finite(pending_stats_);
  pending_stats_ = at::Tensor();
  if (report_.skipped) {
    optimizer_->forget_last_step();
  }
  if (context_.policy.scale_loss) {
    scaler_.update(report_.skipped);
    report_.exhausted = scaler_.exhausted();
  }
}

const StepReport& ShardEngine::last_step() {
  resolve_step();
  return report_;
}

void ShardEngine::publish_masters() {
  for (const auto& unit : units_) {
    for (const auto& group : unit->groups) {
      group->weights.publish_master();
    }
  }
  schedule_->updated();
}

}  // namespace assay::engine
