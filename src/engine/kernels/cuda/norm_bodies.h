// RMSNorm of one row. See lanes.h.
#pragma once

#include <cmath>

#include "engine/kernels/cuda/lanes.h"
#include "engine/kernels/cuda/tasks.h"

namespace assay::engine::cuda {

/// block * multiplier with the product rounded to T, as an operation of its own would.
template <typename T>
ASSAY_DEVICE_CODE float scaled(T block, float multiplier) {
  const float value = static_cast<float>(block);
  return multiplier == 1.0F ? value : round_to<T>(value * multiplier);
}

/// The residual sum of a row into `task.sum`; returns the sum of this thread's squares.
template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE float add_block(const NormForward& task, int64_t offset, const Team& team) {
  const T* x = static_cast<const T*>(task.x) + offset;
  const T* block = static_cast<const T*>(task.block) + offset;
  T* sum = static_cast<T*>(task.sum) + offset;
  float squares = 0.0F;
  for_packs<kLanes>(team, task.width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto left = load<kCount>(x + i);
    const auto right = load<kCount>(block + i);
    Pack<T, kCount> result;
    for (int j = 0; j < kCount; ++j) {
      result.lane[j] = static_cast<T>(static_cast<float>(left.lane[j]) + scaled(right.lane[j], task.multiplier));
      const float value = static_cast<float>(result.lane[j]);
      squares += value * value;
    }
    store(sum + i, result);
  });
  return squares;
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE float squares_of(const T* x, int64_t width, const Team& team) {
  float squares = 0.0F;
  for_packs<kLanes>(team, width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto values = load<kCount>(x + i);
    for (int j = 0; j < kCount; ++j) {
      const float value = static_cast<float>(values.lane[j]);
      squares += value * value;
    }
  });
  return squares;
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void norm_forward_row(const NormForward& task, int64_t row, Team& team) {
  const int64_t offset = row * task.width;
  // A thread reads back only what it wrote itself.
  const T* x = static_cast<const T*>(task.block == nullptr ? task.x : task.sum) + offset;
  const float squares =
      task.block == nullptr ? squares_of<T, kLanes>(x, task.width, team) : add_block<T, kLanes>(task, offset, team);
  const float inverse = 1.0F / std::sqrt(team.sum(squares) / static_cast<float>(task.width) + task.eps);
  if (team.rank() == 0) {
    task.inverse_rms[row] = inverse;
  }
  const T* weight = static_cast<const T*>(task.weight);
  T* y = static_cast<T*>(task.y) + offset;
  for_packs<kLanes>(team, task.width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto values = load<kCount>(x + i);
    const auto weights = load<kCount>(weight + i);
    Pack<T, kCount> result;
    for (int j = 0; j < kCount; ++j) {
      const float normed = round_to<T>(static_cast<float>(values.lane[j]) * inverse);
      result.lane[j] = static_cast<T>(normed * static_cast<float>(weights.lane[j]));
    }
    store(y + i, result);
  });
}

/// sum(grad_y * weight * x) over the elements of this thread.
template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE float norm_dot(const T* grad_y, const T* weight, const T* x, int64_t width, const Team& team) {
  float dot = 0.0F;
  for_packs<kLanes>(team, width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gradients = load<kCount>(grad_y + i);
    const auto weights = load<kCount>(weight + i);
    const auto values = load<kCount>(x + i);
    for (int j = 0; j < kCount; ++j) {
      dot += static_cast<float>(gradients.lane[j]) * static_cast<float>(weights.lane[j]) *
             static_cast<float>(values.lane[j]);
    }
  });
  return dot;
}

/// `grad_weight` (null: not wanted) holds `width` sums that grow with every row: each thread only ever touches those of
/// its own elements.
template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void norm_backward_row(const NormBackward& task, int64_t row, float* grad_weight, Team& team) {
  const int64_t offset = row * task.width;
  const T* grad_y = static_cast<const T*>(task.grad_y) + offset;
  const T* x = static_cast<const T*>(task.x) + offset;
  const T* weight = static_cast<const T*>(task.weight);
  const T* extra = task.extra == nullptr ? nullptr : static_cast<const T*>(task.extra) + offset;
  T* grad_x = static_cast<T*>(task.grad_x) + offset;
  T* grad_block = task.grad_block == nullptr ? nullptr : static_cast<T*>(task.grad_block) + offset;
  const float inverse = task.inverse_rms[row];
  const float dot = team.sum(norm_dot<T, kLanes>(grad_y, weight, x, task.width, team));
  const float pull = dot * inverse * inverse / static_cast<float>(task.width);
  for_packs<kLanes>(team, task.width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gradients = load<kCount>(grad_y + i);
    const auto weights = load<kCount>(weight + i);
    const auto values = load<kCount>(x + i);
    const auto extras = extra == nullptr ? Pack<T, kCount>{} : load<kCount>(extra + i);
    Pack<T, kCount> to_x;
    Pack<T, kCount> to_block;
    for (int j = 0; j < kCount; ++j) {
      const float gradient = static_cast<float>(gradients.lane[j]);
      const float value = static_cast<float>(values.lane[j]);
      float result = (gradient * static_cast<float>(weights.lane[j]) - value * pull) * inverse;
      if (extra != nullptr) {
        result += static_cast<float>(extras.lane[j]);
      }
      to_x.lane[j] = static_cast<T>(result);
      to_block.lane[j] = static_cast<T>(result * task.multiplier);
      if (grad_weight != nullptr) {
        grad_weight[i + j] += gradient * round_to<T>(value * inverse);
      }
    }
    store(grad_x + i, to_x);
    if (grad_block != nullptr) {
      store(grad_block + i, to_block);
    }
  });
}

}  // namespace assay::engine::cuda
