// GELU, in its exact form and in its tanh form. See lanes.h.
#pragma once

#include <cmath>

#include "engine/kernels/cuda/elementwise_bodies.h"
#include "engine/kernels/cuda/lanes.h"
#include "engine/kernels/cuda/tasks.h"

namespace assay::engine::cuda {

/// The share of x that passes, and its slope.
struct Gate {
  float share;
  float slope;
};

/// See GeluForm.
ASSAY_DEVICE_CODE inline Gate gelu_gate(float x, bool tanh_form) {
  if (tanh_form) {
    constexpr float kTwoSqrtTwoOverPi = 1.59576912160573071F;
    constexpr float kCubic = 0.044715F;
    const float share = sigmoid(kTwoSqrtTwoOverPi * (x + kCubic * x * x * x));
    return {share, share * (1.0F - share) * kTwoSqrtTwoOverPi * (1.0F + 3.0F * kCubic * x * x)};
  }
  constexpr float kSqrtHalf = 0.70710678118654752F;
  constexpr float kInverseSqrtTwoPi = 0.39894228040143268F;
  return {0.5F * std::erfc(-x * kSqrtHalf), std::exp(-0.5F * x * x) * kInverseSqrtTwoPi};
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void gelu_forward(const GeluForward& task, const Team& team) {
  for_packs<kLanes>(team, task.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto values = load<kCount>(static_cast<const T*>(task.x) + i);
    for (int j = 0; j < kCount; ++j) {
      const float x = static_cast<float>(values.lane[j]);
      values.lane[j] = static_cast<T>(x * gelu_gate(x, task.tanh_form).share);
    }
    store(static_cast<T*>(task.y) + i, values);
  });
}

template <typename T, int kLanes, typename Team>
ASSAY_DEVICE_CODE void gelu_backward(const GeluBackward& task, const Team& team) {
  for_packs<kLanes>(team, task.count, [&](int64_t i, auto lanes) {
    constexpr int kCount = decltype(lanes)::kCount;
    auto gradients = load<kCount>(static_cast<const T*>(task.grad_y) + i);
    const auto values = load<kCount>(static_cast<const T*>(task.x) + i);
    for (int j = 0; j < kCount; ++j) {
      const float x = static_cast<float>(values.lane[j]);
      const Gate gate = gelu_gate(x, task.tanh_form);
      gradients.lane[j] = static_cast<T>(static_cast<float>(gradients.lane[j]) * (gate.share + x * gate.slope));
    }
    store(static_cast<T*>(task.grad_x) + i, gradients);
  });
}

}  // namespace assay::engine::cuda
