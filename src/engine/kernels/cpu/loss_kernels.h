// Cross-entropy of one row of logits. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

/// The highest value of the row; NaN may be passed over. Lanes past the end count as the first element.
template <typename T>
float row_maximum(const T* row, int64_t width) {
  F32 best = broadcast(to_float(row[0]));
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    best = max(best, load(row + i));
  }
  float result = max_lane(best);
  for (; i < width; ++i) {
    const float value = to_float(row[i]);
    result = value > result ? value : result;
  }
  return result;
}

template <typename T>
float row_sum_of_exponentials(const T* row, int64_t width, float shift) {
  F32 total{};
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    total += exp(load(row + i) - shift);
  }
  float result = sum(total);
  if (i < width) {
    const F32 last = exp(load_first(row + i, width - i) - shift);
    for (int64_t lane = 0; lane < width - i; ++lane) {
      result += last[lane];
    }
  }
  return result;
}

template <typename T>
float row_sum(const T* row, int64_t width) {
  F32 total{};
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    total += load(row + i);
  }
  float result = sum(total);
  for (; i < width; ++i) {
    result += to_float(row[i]);
  }
  return result;
}

template <typename T>
float cross_entropy_row(void* logits, int64_t width, int64_t target, float divisor, float gradient, float smoothing) {
  T* row = static_cast<T*>(logits);
  if (divisor != 1.0F) {
    for_vectors(width,
                [&](int64_t i, auto lanes) { store_lanes(row + i, load_lanes(row + i, lanes) / divisor, lanes); });
  }
  const float maximum = row_maximum(row, width);
  const float log_sum = maximum + __builtin_logf(row_sum_of_exponentials(row, width, maximum));
  const float at_target = to_float(row[target]);
  const float each = smoothing / static_cast<float>(width);
  const float of_all = smoothing == 0.0F ? 0.0F : each * row_sum(row, width);
  if (gradient != 0.0F) {
    const float factor = gradient / divisor;
    for_vectors(width, [&](int64_t i, auto lanes) {
      store_lanes(row + i, (exp(load_lanes(row + i, lanes) - log_sum) - each) * factor, lanes);
    });
    const F32 probability = exp(broadcast(at_target - log_sum));
    row[target] = from_float<T>((probability[0] - each - (1.0F - smoothing)) * factor);
  }
  return log_sum - (1.0F - smoothing) * at_target - of_all;
}

}  // namespace assay::engine::ASSAY_ISA
