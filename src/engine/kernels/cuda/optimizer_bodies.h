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

/// Types: an UpdateTypes.
template <typename Types, int kLanes, typename Team>
ASSAY_DEVICE_CODE void adamw(const UpdateTensor& tensor, const UpdateScalars& scalars, const Stretch& stretch,
                             const Team& team) {
  using State = typename Types::State;
  using Copy = typename Types::Copy;
  auto* parameter = static_cast<typename Types::Parameter*>(tensor.parameter) + stretch.begin;
  const auto* gradient = static_cast<const typename Types::Gradient*>(tensor.gradient) + stretch.begin;
  State* first = static_cast<State*>(tensor.first_moment) + stretch.begin;
  State* second = static_cast<State*>(tensor.second_moment) + stretch.begin;
  Copy* copy = tensor.copy == nullptr ? nullptr : static_cast<Copy*>(tensor.copy) + stretch.begin;
  const UpdateScale scale = update_scale(scalars.rule);
  if (scale.skip) {
    return;
  }
  for_packs<kLanes>(team, stretch.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto parameters = load<kCount>(parameter + i);
    const auto gradients = load<kCount>(gradient + i);
    Pack<State, kCount> firsts{};
    Pack<State, kCount> seconds{};
    if (!scalars.first_step) {
      firsts = load<kCount>(first + i);
      seconds = load<kCount>(second + i);
    }
    Pack<Copy, kCount> copies;
    for (int j = 0; j < kCount; ++j) {
      const float g = static_cast<float>(gradients.lane[j]) * scale.factor;
      float m = static_cast<float>(firsts.lane[j]);
      m += (g - m) * scalars.one_minus_beta1;
      const float v = static_cast<float>(seconds.lane[j]) * scalars.beta2 + g * g * scalars.one_minus_beta2;
      const float denominator = std::sqrt(v) * scalars.inverse_correction2 + scalars.eps;
      const float p = static_cast<float>(parameters.lane[j]) * tensor.decay - m / denominator * scalars.step_size;
      parameters.lane[j] = static_cast<typename Types::Parameter>(p);
      firsts.lane[j] = static_cast<State>(m);
      seconds.lane[j] = static_cast<State>(v);
      copies.lane[j] = static_cast<Copy>(p);
    }
    store(parameter + i, parameters);
    store(first + i, firsts);
    store(second + i, seconds);
    if (copy != nullptr) {
      store(copy + i, copies);
    }
  });
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void sgd(const UpdateTensor& tensor, const UpdateScalars& scalars, const Stretch& stretch,
                           const Team& team) {
  T* parameter = static_cast<T*>(tensor.parameter) + stretch.begin;
  const T* gradient = static_cast<const T*>(tensor.gradient) + stretch.begin;
  const UpdateScale scale = update_scale(scalars.rule);
  if (scale.skip) {
    return;
  }
  for_packs<kLanes>(team, stretch.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto parameters = load<kCount>(parameter + i);
    const auto gradients = load<kCount>(gradient + i);
    for (int j = 0; j < kCount; ++j) {
      const float p = static_cast<float>(parameters.lane[j]);
      const float update = static_cast<float>(gradients.lane[j]) * scale.factor + p * tensor.decay;
      parameters.lane[j] = static_cast<T>(p - update * scalars.step_size);
    }
    store(parameter + i, parameters);
  });
}

/// What a block writes; see launch_gradient_sums().
struct BlockSums {
  float squares;
  float non_finite;
};

/// Of the whole stretch, for every thread.
template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE BlockSums gradient_sums(const UpdateTensor& tensor, const Stretch& stretch, Team& team) {
  const T* gradient = static_cast<const T*>(tensor.gradient) + stretch.begin;
  BlockSums sums{};
  for_packs<kLanes>(team, stretch.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    const auto gradients = load<kCount>(gradient + i);
    for (int j = 0; j < kCount; ++j) {
      const float g = static_cast<float>(gradients.lane[j]);
      sums.squares += g * g;
      // An infinity less itself is not a number either, and that equals nothing.
      sums.non_finite += g - g == 0.0F ? 0.0F : 1.0F;
    }
  });
  return {team.sum(sums.squares), team.sum(sums.non_finite)};
}

}  // namespace assay::engine::cuda
