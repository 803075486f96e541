// Optimiser updates of a stretch of one tensor. See lanes.h.
#pragma once

#include <cmath>

#include "engine/kernels/cuda/lanes.h"
#include "engine/kernels/cuda/tasks.h"

namespace assay::engine::cuda {

/// The tensor that block `block` of a launch works on, by bisection over the first blocks.
ASSAY_DEVICE_CODE inline int tensor_of_block(const TensorList& list, int block) {
  int low = 0;
  int high = list.size - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (list.first_block[middle] <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// The part of `tensor` that the block has: `count` elements from `begin`.
struct Stretch {
  int64_t begin;
  int64_t count;
};

ASSAY_DEVICE_CODE inline Stretch stretch_of_block(const TensorList& list, int tensor, int block) {
  const int64_t begin = static_cast<int64_t>(block - list.first_block[tensor]) * TensorList::kStretch;
  const int64_t left = list.tensors[tensor].count - begin;
  return {begin, left < TensorList::kStretch ? left : TensorList::kStretch};
}

/// T: parameter and gradient; State: the moments.
template <typename T, typename State, int kLanes, typename Team>
ASSAY_DEVICE_CODE void adamw(const UpdateTensor& tensor, const UpdateScalars& scalars, const Stretch& stretch,
                             const Team& team) {
  T* parameter = static_cast<T*>(tensor.parameter) + stretch.begin;
  const T* gradient = static_cast<const T*>(tensor.gradient) + stretch.begin;
  State* first = static_cast<State*>(tensor.first_moment) + stretch.begin;
  State* second = static_cast<State*>(tensor.second_moment) + stretch.begin;
  for_packs<kLanes>(team, stretch.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto parameters = load<kCount>(parameter + i);
    const auto gradients = load<kCount>(gradient + i);
    auto firsts = load<kCount>(first + i);
    auto seconds = load<kCount>(second + i);
    for (int j = 0; j < kCount; ++j) {
      const float g = static_cast<float>(gradients.lane[j]) * scalars.gradient_scale;
      float m = static_cast<float>(firsts.lane[j]);
      m += (g - m) * scalars.one_minus_beta1;
      const float v = static_cast<float>(seconds.lane[j]) * scalars.beta2 + g * g * scalars.one_minus_beta2;
      const float denominator = std::sqrt(v) * scalars.inverse_correction2 + scalars.eps;
      const float p = static_cast<float>(parameters.lane[j]) * tensor.decay - m / denominator * scalars.step_size;
      parameters.lane[j] = static_cast<T>(p);
      firsts.lane[j] = static_cast<State>(m);
      seconds.lane[j] = static_cast<State>(v);
    }
    store(parameter + i, parameters);
    store(first + i, firsts);
    store(second + i, seconds);
  });
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void sgd(const UpdateTensor& tensor, const UpdateScalars& scalars, const Stretch& stretch,
                           const Team& team) {
  T* parameter = static_cast<T*>(tensor.parameter) + stretch.begin;
  const T* gradient = static_cast<const T*>(tensor.gradient) + stretch.begin;
  for_packs<kLanes>(team, stretch.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto parameters = load<kCount>(parameter + i);
    const auto gradients = load<kCount>(gradient + i);
    for (int j = 0; j < kCount; ++j) {
      const float p = static_cast<float>(parameters.lane[j]);
      const float update = static_cast<float>(gradients.lane[j]) * scalars.gradient_scale + p * tensor.decay;
      parameters.lane[j] = static_cast<T>(p - update * scalars.step_size);
    }
    store(parameter + i, parameters);
  });
}

/// Of the whole stretch, for every thread.
template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE float sum_of_squares(const UpdateTensor& tensor, const Stretch& stretch, Team& team) {
  const T* gradient = static_cast<const T*>(tensor.gradient) + stretch.begin;
  float squares = 0.0F;
  for_packs<kLanes>(team, stretch.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gradients = load<kCount>(gradient + i);
    for (int j = 0; j < kCount; ++j) {
      const float g = static_cast<float>(gradients.lane[j]);
      squares += g * g;
    }
  });
  return team.sum(squares);
}

}  // namespace assay::engine::cuda
