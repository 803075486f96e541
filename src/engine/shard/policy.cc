#include "engine/shard/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay::engine {
namespace {

constexpr double kTorchFirstBucketMib = 1;
constexpr double kBenchmarkLossScale = 32;  // ColossalAI's ViT benchmark: initial_scale=2**5

ShardPolicy data_parallel() {
  ShardPolicy policy;
  policy.first_bucket_mib = kTorchFirstBucketMib;
  return policy;
}

/// torch.amp.GradScaler scales in fp16 DDP; ColossalAI's scaler waits for a second overflow.
LossScaleOptions colossal_scale() {
  return {
      .initial = kBenchmarkLossScale, .growth_interval = 1000, .hysteresis = 2, .minimum = 1, .maximum = 4294967296};
}

ShardPolicy low_level_zero(bool accumulate_whole) {
  ShardPolicy policy;
  policy.split = SplitOver::kAll;
  policy.accumulate_whole = accumulate_whole;
  policy.loss_scale = colossal_scale();
  return with_precision(policy, "fp16");
}

ShardPolicy fully_sharded(SplitOver split, bool reshard_after_forward) {
  ShardPolicy policy;
  policy.split = split;
  policy.keep_weights = false;
  policy.reshard_after_forward = reshard_after_forward;
  policy.prefetch = 1;
  return policy;
}

ShardPolicy gemini(WeightPlacement placement) {
  ShardPolicy policy = fully_sharded(SplitOver::kAll, true);
  policy.prefetch = 0;
  policy.chunks.emplace();
  policy.placement = placement;
  (placement == WeightPlacement::kFixed ? policy.offload_optim_frac : policy.yielding_optim_frac) = 1;
  policy.loss_scale = colossal_scale();
  return with_precision(policy, "fp16");
}

}  // namespace

std::span<const ShardStrategy> shard_strategies() {
  static const std::vector<ShardStrategy> strategies = {
      {"torch_ddp", data_parallel()},
      {"torch_ddp_fp16", with_precision(data_parallel(), "amp_fp16")},
      {"torch_ddp_bf16", with_precision(data_parallel(), "amp_bf16")},
      {"low_level_zero", low_level_zero(true)},
      {"low_level_zero_2", low_level_zero(false)},
      {"gemini", gemini(WeightPlacement::kFixed)},
      {"gemini_auto", gemini(WeightPlacement::kBudget)},
      {"FULL_SHARD", fully_sharded(SplitOver::kAll, true)},
      {"SHARD_GRAD_OP", fully_sharded(SplitOver::kAll, false)},
      {"NO_SHARD", fully_sharded(SplitOver::kNobody, false)},
      {"HYBRID_SHARD", fully_sharded(SplitOver::kGroup, true)},
      {"_HYBRID_SHARD_ZERO2", fully_sharded(SplitOver::kGroup, false)},
  };
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
