#include "engine/shard/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace assay::engine {
namespace {

constexpr double kTorchFirstBucketMib = 1;
constexpr double kBenchmarkLossScale = 32;  // ColossalAI's ViT benchmark: initial_scale=2**5

/// torch.amp.GradScaler scales in fp16 DDP; ColossalAI's scaler waits for a second overflow.
LossScaleOptions colossal_scale() {
  return {
      .initial = kBenchmarkLossScale, .growth_interval = 1000, .hysteresis = 2, .minimum = 1, .maximum = 4294967296};
}

ChunkSearch chunk_search_of(const job::PluginKnobs& knobs) {
  constexpr double kMebi = 1 << 20;
  ChunkSearch search{.min_elements = std::llround(knobs.min_chunk_size_m * kMebi),
                     .range = std::llround(knobs.search_range_m * kMebi)};
  search.step = knobs.hidden_dim > 0 ? knobs.hidden_dim : search.step;
  return search;
}

/// "float8" is what weights travel as, any other name what gradients do.
void set_communication_dtype(std::string_view name, ShardPolicy& policy) {
  constexpr std::array<std::pair<std::string_view, at::ScalarType>, 3> kDtypes = {
      {{"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}}};
  policy.gather_float8 = policy.gather_float8 || name == "float8";
  const auto* found = std::ranges::find(kDtypes, name, &std::pair<std::string_view, at::ScalarType>::first);
  policy.reduce_dtype = found == kDtypes.end() ? policy.reduce_dtype : found->second;
}

ShardPolicy base_policy(const job::Strategy& strategy) {
  ShardPolicy policy;
  policy.split = strategy.split;
  policy.keep_weights = strategy.keep_weights;
  policy.reshard_after_forward = strategy.reshard_after_forward;
  policy.accumulate_whole = strategy.accumulate_whole;
  policy.placement = strategy.within_budget ? WeightPlacement::kBudget : WeightPlacement::kFixed;
  if (strategy.small_first_bucket) {
    policy.first_bucket_mib = kTorchFirstBucketMib;
  }
  if (strategy.colossal_scaler) {
    policy.loss_scale = colossal_scale();
  }
  return policy;
}

std::vector<ShardStrategy> strategies_of_plugins() {
  std::vector<ShardStrategy> all;
  const auto add = [&](const job::PluginInfo& plugin, const job::PluginKnobs& knobs) {
    const std::string_view name = job::StrategyOf(plugin, knobs).name;
    if (std::ranges::find(all, name, &ShardStrategy::name) == all.end()) {
      all.push_back({name, policy_of(plugin, knobs, plugin.precision)});
    }
  };
  for (const job::PluginInfo& plugin : job::Plugins()) {
    job::PluginKnobs knobs = plugin.defaults;
    for (size_t stage = 0; stage < plugin.strategies.size(); ++stage) {
      knobs.zero_stage = plugin.least_stage + static_cast<int64_t>(stage);
      add(plugin, knobs);
    }
    if (plugin.auto_strategy) {
      knobs.placement = "auto";
      add(plugin, knobs);
    }
  }
  return all;
}

}  // namespace

ShardPolicy policy_of(const job::PluginInfo& plugin, const job::PluginKnobs& knobs, std::string_view precision) {
  const job::Strategy& strategy = job::StrategyOf(plugin, knobs);
  ShardPolicy policy = with_precision(base_policy(strategy), precision);
  policy.bucket_mib = knobs.bucket_mib;
  policy.overlap = knobs.overlap;
  policy.prefetch = knobs.prefetch;
  if (strategy.chunks) {
    policy.chunks = chunk_search_of(knobs);
  }
  policy.keep_gathered_frac = 1.0 - knobs.shard_param_frac;
  (strategy.within_budget ? policy.yielding_optim_frac : policy.offload_optim_frac) = knobs.offload_optim_frac;
  policy.offload_param_frac = knobs.offload_param_frac;
  set_communication_dtype(knobs.communication_dtype, policy);
  return policy;
}

std::span<const ShardStrategy> shard_strategies() {
  static const std::vector<ShardStrategy> strategies = strategies_of_plugins();
  return strategies;
}

const ShardPolicy& shard_policy(std::string_view name) {
  const auto all = shard_strategies();
  const auto found = std::ranges::find(all, name, &ShardStrategy::name);
  if (found != all.end()) {
    return found->policy;
  }
  std::vector<std::string_view> names;
  std::ranges::transform(all, std::back_inserter(names), &ShardStrategy::name);
  throw std::invalid_argument(
      fmt::format("unknown parallel strategy '{}' (choose one of {})", name, fmt::join(names, ", ")));
}

ShardPolicy with_precision(ShardPolicy policy, std::string_view precision) {
  struct Precision {
    std::string_view name;
    std::optional<at::ScalarType> param_dtype;
    bool scale_loss;
    bool gather_float8;
  };
  static constexpr std::array kPrecisions = {
      Precision{"fp32", std::nullopt, false, false},     Precision{"bf16", at::kBFloat16, false, false},
      Precision{"fp16", at::kHalf, true, false},         Precision{"fp8", at::kBFloat16, false, true},
      Precision{"amp_bf16", std::nullopt, false, false}, Precision{"amp_fp16", std::nullopt, true, false},
  };
  const auto* row = std::ranges::find(kPrecisions, precision, &Precision::name);
  if (row == kPrecisions.end()) {
    throw std::invalid_argument(
        fmt::format("unknown precision '{}' (choose one of fp32, bf16, fp16, fp8, amp_bf16, amp_fp16)", precision));
  }
  policy.param_dtype = row->param_dtype;
  policy.reduce_dtype = row->param_dtype;
  policy.scale_loss = row->scale_loss;
  policy.gather_float8 = row->gather_float8;
  return policy;
}

}  // namespace assay::engine
