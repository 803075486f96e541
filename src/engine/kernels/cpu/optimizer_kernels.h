// Optimiser updates over flat ranges. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

template <typename T, typename State>
void adamw(const AdamwArguments& a, int64_t begin, int64_t end) {
  T* parameter = static_cast<T*>(a.parameter) + begin;
  const T* gradient = static_cast<const T*>(a.gradient) + begin;
  State* first = static_cast<State*>(a.first_moment) + begin;
  State* second = static_cast<State*>(a.second_moment) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 g = load_lanes(gradient + i, lanes) * a.gradient_scale;
    F32 m = load_lanes(first + i, lanes);
    m += (g - m) * a.one_minus_beta1;
    const F32 v = load_lanes(second + i, lanes) * a.beta2 + g * g * a.one_minus_beta2;
    const F32 denominator = sqrt(v) * a.inverse_correction2 + a.eps;
    const F32 p = load_lanes(parameter + i, lanes) * a.decay_factor - m / denominator * a.step_size;
    store_lanes(first + i, m, lanes);
    store_lanes(second + i, v, lanes);
    store_lanes(parameter + i, p, lanes);
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
double sum_of_squares(const void* x, int64_t begin, int64_t end) {
  constexpr int64_t kStretch = 4096;
  double total = 0.0;
  for (int64_t start = begin; start < end; start += kStretch) {
    const int64_t count = end - start < kStretch ? end - start : kStretch;
    const T* values = static_cast<const T*>(x) + start;
    F32 squares{};
    for_vectors(count, [&](int64_t i, auto lanes) {
      const F32 value = load_lanes(values + i, lanes);
      squares += value * value;
    });
    total += static_cast<double>(sum(squares));
  }
  return total;
}

}  // namespace assay::engine::ASSAY_ISA
