// GELU, in its exact form and in its tanh form. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/elementwise_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

/// The share of x that passes, and its slope.
struct Gate {
  F32 share;
  F32 slope;
};

/// The normal distribution's cumulative probability and density at x: Abramowitz & Stegun 7.1.26 for erf, within
/// 1.5e-7. Both come from one exponential.
inline Gate normal_gate(F32 x) {
  constexpr float kSqrtHalf = 0.70710678118654752F;
  constexpr float kInverseSqrtTwoPi = 0.39894228040143268F;
  const F32 distance = max(x, -x) * kSqrtHalf;
  const F32 t = 1.0F / (1.0F + 0.3275911F * distance);
  F32 p = broadcast(1.061405429F);
  p = p * t - 1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t - 0.284496736F;
  p = p * t + 0.254829592F;
  const F32 bell = exp(-(distance * distance));
  const F32 tail = 0.5F * p * t * bell;
  return {x > 0.0F ? 1.0F - tail : tail, bell * kInverseSqrtTwoPi};
}

/// 0.5 (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), as a logistic function of 2u.
inline Gate tanh_gate(F32 x) {
  constexpr float kTwoSqrtTwoOverPi = 1.59576912160573071F;
  constexpr float kCubic = 0.044715F;
  const F32 share = sigmoid(kTwoSqrtTwoOverPi * (x + kCubic * x * x * x));
  return {share, share * (1.0F - share) * kTwoSqrtTwoOverPi * (1.0F + 3.0F * kCubic * x * x)};
}

template <typename T, typename GateOf>
void gelu_forward_with(const void* x, void* y, int64_t begin, int64_t end, GateOf gate_of) {
  const T* in = static_cast<const T*>(x) + begin;
  T* out = static_cast<T*>(y) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 value = load_lanes(in + i, lanes);
    store_lanes(out + i, value * gate_of(value).share, lanes);
  });
}

template <typename T>
void gelu_forward(const void* x, void* y, bool tanh_form, int64_t begin, int64_t end) {
  tanh_form ? gelu_forward_with<T>(x, y, begin, end, [](F32 value) { return tanh_gate(value); })
            : gelu_forward_with<T>(x, y, begin, end, [](F32 value) { return normal_gate(value); });
}

template <typename T, typename GateOf>
void gelu_backward_with(const void* grad_y, const void* x, void* grad_x, int64_t begin, int64_t end, GateOf gate_of) {
  const T* gradients = static_cast<const T*>(grad_y) + begin;
  const T* in = static_cast<const T*>(x) + begin;
  T* out = static_cast<T*>(grad_x) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 value = load_lanes(in + i, lanes);
    const Gate gate = gate_of(value);
    store_lanes(out + i, load_lanes(gradients + i, lanes) * (gate.share + value * gate.slope), lanes);
  });
}

template <typename T>
void gelu_backward(const void* grad_y, const void* x, void* grad_x, bool tanh_form, int64_t begin, int64_t end) {
  tanh_form ? gelu_backward_with<T>(grad_y, x, grad_x, begin, end, [](F32 value) { return tanh_gate(value); })
            : gelu_backward_with<T>(grad_y, x, grad_x, begin, end, [](F32 value) { return normal_gate(value); });
}

}  // namespace assay::engine::ASSAY_ISA
