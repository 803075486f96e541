// Cross-entropy of one row of logits and its gradient in place. See lanes.h.
#pragma once

#include <cfloat>
#include <cmath>

#include "engine/kernels/cuda/lanes.h"
#include "engine/kernels/cuda/tasks.h"

namespace assay::engine::cuda {

/// A logit after its division, rounded as a tensor of T would hold it.
template <typename T>
ASSAY_DEVICE_CODE float divided(T logit, float divisor) {
  const float value = static_cast<float>(logit);
  return divisor == 1.0F ? value : round_to<T>(value / divisor);
}

/// The log of the sum of the row's exponentials, in one pass (Milakov & Gimelshein 2018, "Online normalizer
/// calculation for softmax"): each thread keeps its highest value and the sum relative to it.
template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE float log_sum_exp(const T* row, int64_t width, float divisor, Team& team) {
  // Finite, so that a logit of minus infinity has a distance to it.
  float highest = -FLT_MAX;
  float total = 0.0F;
  const auto add = [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto logits = load<kCount>(row + i);
    const float before = highest;
    for (int j = 0; j < kCount; ++j) {
      const float value = divided(logits.lane[j], divisor);
      highest = value > highest ? value : highest;
    }
    if (highest > before) {
      total *= std::exp(before - highest);
    }
    for (int j = 0; j < kCount; ++j) {
      total += std::exp(divided(logits.lane[j], divisor) - highest);
    }
  };
  for_packs<kLanes>(team, width, add, elements_before_pack<kLanes>(row));
  const float maximum = team.max(highest);
  // A thread without elements has nothing to rescale.
  const float share = total == 0.0F ? 0.0F : total * std::exp(highest - maximum);
  return maximum + std::log(team.sum(share));
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE float sum_of_row(const T* row, int64_t width, float divisor, Team& team) {
  float total = 0.0F;
  const auto add = [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto logits = load<kCount>(row + i);
    for (int j = 0; j < kCount; ++j) {
      total += divided(logits.lane[j], divisor);
    }
  };
  for_packs<kLanes>(team, width, add, elements_before_pack<kLanes>(row));
  return team.sum(total);
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void cross_entropy_row(const CrossEntropy& task, int64_t index, Team& team) {
  T* row = static_cast<T*>(task.logits) + index * task.width;
  const int64_t target = task.targets[index];
  // Read by every thread before any of them writes: the reductions below stand between.
  const float at_target = divided(row[target], task.divisor);
  const float log_sum = log_sum_exp<T, kLanes>(row, task.width, task.divisor, team);
  const float each = task.smoothing / static_cast<float>(task.width);
  const float of_all =
      task.smoothing == 0.0F ? 0.0F : each * sum_of_row<T, kLanes>(row, task.width, task.divisor, team);
  if (team.rank() == 0) {
    task.losses[index] = log_sum - (1.0F - task.smoothing) * at_target - of_all;
  }
  if (task.gradient == 0.0F) {
    return;
  }
  const float factor = task.gradient / task.divisor;
  const auto replace = [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto logits = load<kCount>(row + i);
    for (int j = 0; j < kCount; ++j) {
      const float above = std::exp(divided(logits.lane[j], task.divisor) - log_sum) - each;
      logits.lane[j] = static_cast<T>((i + j == target ? above - (1.0F - task.smoothing) : above) * factor);
    }
    store(row + i, logits);
  };
  for_packs<kLanes>(team, task.width, replace, elements_before_pack<kLanes>(row));
}

}  // namespace assay::engine::cuda
