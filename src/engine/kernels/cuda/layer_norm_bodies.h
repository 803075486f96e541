// LayerNorm of one row, with the residual sum before it. T is the dtype of the block and of the result, R that of the
// residual stream. See lanes.h.
#pragma once

#include <cmath>

#include "engine/kernels/cuda/lanes.h"
#include "engine/kernels/cuda/tasks.h"

namespace assay::engine::cuda {

/// The residual sum of a row into `task.sum` where there is a block; returns the sum of this thread's elements.
template <typename T, typename R, int kLanes, typename Team>
ASSAY_DEVICE_CODE float layer_norm_input(const LayerNormForward& task, int64_t offset, const Team& team) {
  const R* x = static_cast<const R*>(task.x) + offset;
  const T* block = task.block == nullptr ? nullptr : static_cast<const T*>(task.block) + offset;
  R* sum = static_cast<R*>(task.sum);
  float total = 0.0F;
  for_packs<kLanes>(team, task.width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto values = load<kCount>(x + i);
    if (block != nullptr) {
      const auto added = load<kCount>(block + i);
      for (int j = 0; j < kCount; ++j) {
        values.lane[j] = static_cast<R>(static_cast<float>(values.lane[j]) + static_cast<float>(added.lane[j]));
      }
      store(sum + offset + i, values);
    }
    for (int j = 0; j < kCount; ++j) {
      total += static_cast<float>(values.lane[j]);
    }
  });
  return total;
}

template <typename R, int kLanes, typename Team>
ASSAY_DEVICE_CODE float squared_distances(const R* x, int64_t width, float mean, const Team& team) {
  float squares = 0.0F;
  for_packs<kLanes>(team, width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto values = load<kCount>(x + i);
    for (int j = 0; j < kCount; ++j) {
      const float distance = static_cast<float>(values.lane[j]) - mean;
      squares += distance * distance;
    }
  });
  return squares;
}

template <typename T, typename R, int kLanes, typename Team>
ASSAY_DEVICE_CODE void layer_norm_forward_row(const LayerNormForward& task, int64_t row, Team& team) {
  const int64_t offset = row * task.width;
  const auto count = static_cast<float>(task.width);
  const float mean = team.sum(layer_norm_input<T, R, kLanes>(task, offset, team)) / count;
  // A thread reads back only what it wrote itself.
  const R* x = static_cast<const R*>(task.block == nullptr ? task.x : task.sum) + offset;
  const float squares = team.sum(squared_distances<R, kLanes>(x, task.width, mean, team));
  const float inverse = 1.0F / std::sqrt(squares / count + task.eps);
  if (team.rank() == 0) {
    task.mean[row] = mean;
    task.inverse_deviation[row] = inverse;
  }
  T* y = static_cast<T*>(task.y) + offset;
  for_packs<kLanes>(team, task.width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto values = load<kCount>(x + i);
    const auto weights = load<kCount>(task.weight + i);
    const auto biases = load<kCount>(task.bias + i);
    Pack<T, kCount> result;
    for (int j = 0; j < kCount; ++j) {
      const float normed = (static_cast<float>(values.lane[j]) - mean) * inverse;
      result.lane[j] = static_cast<T>(normed * weights.lane[j] + biases.lane[j]);
    }
    store(y + i, result);
  });
}

/// Sums over the elements of one thread, of gradient * weight alone and times the normed value.
struct LayerNormSums {
  float gradients = 0.0F;
  float dots = 0.0F;
};

/// `grad_affine` (null: not wanted) holds `width` sums for the weight and then as many for the bias.
template <typename T, typename R, int kLanes, typename Team>
ASSAY_DEVICE_CODE LayerNormSums layer_norm_sums(const LayerNormBackward& task, int64_t row, float* grad_affine,
                                                const Team& team) {
  const int64_t offset = row * task.width;
  const T* grad_y = static_cast<const T*>(task.grad_y) + offset;
  const R* x = static_cast<const R*>(task.x) + offset;
  const float mean = task.mean[row];
  const float inverse = task.inverse_deviation[row];
  LayerNormSums sums;
  for_packs<kLanes>(team, task.width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gradients = load<kCount>(grad_y + i);
    const auto values = load<kCount>(x + i);
    const auto weights = load<kCount>(task.weight + i);
    for (int j = 0; j < kCount; ++j) {
      const float gradient = static_cast<float>(gradients.lane[j]);
      const float normed = (static_cast<float>(values.lane[j]) - mean) * inverse;
      sums.gradients += gradient * weights.lane[j];
      sums.dots += gradient * weights.lane[j] * normed;
      if (grad_affine != nullptr) {
        grad_affine[i + j] += gradient * normed;
        grad_affine[task.width + i + j] += gradient;
      }
    }
  });
  return sums;
}

/// Each thread only ever touches the sums of its own elements in `grad_affine`.
template <typename T, typename R, int kLanes, typename Team>
ASSAY_DEVICE_CODE void layer_norm_backward_row(const LayerNormBackward& task, int64_t row, float* grad_affine,
                                               Team& team) {
  const LayerNormSums sums = layer_norm_sums<T, R, kLanes>(task, row, grad_affine, team);
  const float mean_gradient = team.sum(sums.gradients) / static_cast<float>(task.width);
  const float pull = team.sum(sums.dots) / static_cast<float>(task.width);
  const int64_t offset = row * task.width;
  const T* grad_y = static_cast<const T*>(task.grad_y) + offset;
  const R* x = static_cast<const R*>(task.x) + offset;
  const R* extra = task.extra == nullptr ? nullptr : static_cast<const R*>(task.extra) + offset;
  R* grad_x = static_cast<R*>(task.grad_x) + offset;
  T* grad_block = task.grad_block == nullptr ? nullptr : static_cast<T*>(task.grad_block) + offset;
  const float mean = task.mean[row];
  const float inverse = task.inverse_deviation[row];
  for_packs<kLanes>(team, task.width, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gradients = load<kCount>(grad_y + i);
    const auto values = load<kCount>(x + i);
    const auto weights = load<kCount>(task.weight + i);
    const auto extras = extra == nullptr ? Pack<R, kCount>{} : load<kCount>(extra + i);
    Pack<R, kCount> to_x;
    Pack<T, kCount> to_block;
    for (int j = 0; j < kCount; ++j) {
      const float normed = (static_cast<float>(values.lane[j]) - mean) * inverse;
      const float scaled = static_cast<float>(gradients.lane[j]) * weights.lane[j];
      float result = (scaled - mean_gradient - normed * pull) * inverse;
      if (extra != nullptr) {
        result += static_cast<float>(extras.lane[j]);
      }
      to_x.lane[j] = static_cast<R>(result);
      to_block.lane[j] = static_cast<T>(result);
    }
    store(grad_x + i, to_x);
    if (grad_block != nullptr) {
      store(grad_block + i, to_block);
    }
  });
}

}  // namespace assay::engine::cuda
