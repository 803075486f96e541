// Optimiser updates over flat ranges. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

template <typename T, typename Gradient, typename State, typename Copy>
void adamw(const AdamwArguments& a, int64_t begin, int64_t end) {
  T* parameter = static_cast<T*>(a.parameter) + begin;
  const Gradient* gradient = static_cast<const Gradient*>(a.gradient) + begin;
  State* first = static_cast<State*>(a.first_moment) + begin;
  State* second = static_cast<State*>(a.second_moment) + begin;
  Copy* copy = a.copy == nullptr ? nullptr : static_cast<Copy*>(a.copy) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 g = load_lanes(gradient + i, lanes) * a.gradient_scale;
    F32 m = a.first_step ? F32{} : load_lanes(first + i, lanes);
    m += (g - m) * a.one_minus_beta1;
    const F32 old = a.first_step ? F32{} : load_lanes(second + i, lanes);
    const F32 v = old * a.beta2 + g * g * a.one_minus_beta2;
    const F32 denominator = sqrt(v) * a.inverse_correction2 + a.eps;
    const F32 p = load_lanes(parameter + i, lanes) * a.decay_factor - m / denominator * a.step_size;
    store_lanes(first + i, m, lanes);
    store_lanes(second + i, v, lanes);
    store_lanes(parameter + i, p, lanes);
    if (copy != nullptr) {
      store_lanes(copy + i, p, lanes);
    }
  });
}

template <typename T>
void sgd(const SgdArguments& a, int64_t begin, int64_t end) {
  T* parameter = static_cast<T*>(a.parameter) + begin;
  const T* gradient = static_cast<const T*>(a.gradient) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 p = load_lanes(parameter + i, lanes);
    const F32 update = load_lanes(gradient + i, lanes) * a.gradient_scale + p * a.weight_decay;
    store_lanes(parameter + i, p - update * a.learning_rate, lanes);
  });
}

/// Summed in float32 over short stretches, and those in float64.
template <typename T>
GradientSums gradient_sums(const void* x, int64_t begin, int64_t end) {
  constexpr int64_t kStretch = 4096;
  GradientSums total{};
  for (int64_t start = begin; start < end; start += kStretch) {
    const int64_t count = end - start < kStretch ? end - start : kStretch;
    const T* values = static_cast<const T*>(x) + start;
    F32 squares{};
    F32 non_finite{};
    for_vectors(count, [&](int64_t i, auto lanes) {
      const F32 value = load_lanes(values + i, lanes);
      squares += value * value;
      // An infinity less itself is not a number either, and that equals nothing.
      const F32 difference = value - value;
      non_finite += difference == F32{} ? F32{} : broadcast(1.0F);
    });
    total.squares += static_cast<double>(sum(squares));
    total.non_finite += static_cast<double>(sum(non_finite));
  }
  return total;
}

}  // namespace assay::engine::ASSAY_ISA
