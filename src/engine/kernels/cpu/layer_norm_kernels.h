// LayerNorm with the residual sum before it. T is the dtype of the block and of the result, R that of the residual
// stream. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

/// The row that is normed: x, or x plus the block, which is stored.
template <typename T, typename R>
const R* layer_norm_input(const LayerNormForward& a, int64_t offset) {
  const R* x = static_cast<const R*>(a.x) + offset;
  if (a.block == nullptr) {
    return x;
  }
  const T* block = static_cast<const T*>(a.block) + offset;
  R* total = static_cast<R*>(a.sum) + offset;
  for_vectors(a.width, [&](int64_t i, auto lanes) {
    store_lanes(total + i, load_lanes(x + i, lanes) + load_lanes(block + i, lanes), lanes);
  });
  return total;
}

/// Sum of (x - mean)^2; lanes past the end of the row count as the mean.
template <typename R>
float sum_of_squared_distances(const R* x, int64_t width, float mean) {
  F32 squares{};
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    const F32 distance = load(x + i) - mean;
    squares += distance * distance;
  }
  if (i < width) {
    const F32 distance = load_first(x + i, width - i, mean) - mean;
    squares += distance * distance;
  }
  return sum(squares);
}

template <typename T, typename R>
void layer_norm_forward_row(const LayerNormForward& a, int64_t row) {
  const int64_t offset = row * a.width;
  const R* x = layer_norm_input<T, R>(a, offset);
  F32 sums{};
  for_vectors(a.width, [&](int64_t i, auto lanes) { sums += load_lanes(x + i, lanes); });
  const auto count = static_cast<float>(a.width);
  const float mean = sum(sums) / count;
  const float inverse = 1.0F / __builtin_sqrtf(sum_of_squared_distances(x, a.width, mean) / count + a.eps);
  a.mean[row] = mean;
  a.inverse_deviation[row] = inverse;
  T* y = static_cast<T*>(a.y) + offset;
  for_vectors(a.width, [&](int64_t i, auto lanes) {
    const F32 normed = (load_lanes(x + i, lanes) - mean) * inverse;
    store_lanes(y + i, normed * load_lanes(a.weight + i, lanes) + load_lanes(a.bias + i, lanes), lanes);
  });
}

template <typename T, typename R>
void layer_norm_forward(const LayerNormForward& a, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    layer_norm_forward_row<T, R>(a, row);
  }
}

template <typename T, typename R>
void layer_norm_backward_row(const LayerNormBackward& a, float* grad_weight, float* grad_bias, int64_t row) {
  const int64_t offset = row * a.width;
  const T* grad_y = static_cast<const T*>(a.grad_y) + offset;
  const R* x = static_cast<const R*>(a.x) + offset;
  const float mean = a.mean[row];
  const float inverse = a.inverse_deviation[row];
  F32 sums{};
  F32 dots{};
  for_vectors(a.width, [&](int64_t i, auto lanes) {
    const F32 gradient = load_lanes(grad_y + i, lanes);
    const F32 scaled = gradient * load_lanes(a.weight + i, lanes);
    const F32 normed = (load_lanes(x + i, lanes) - mean) * inverse;
    sums += scaled;
    dots += scaled * normed;
    if (grad_weight != nullptr) {
      store_lanes(grad_weight + i, load_lanes(grad_weight + i, lanes) + gradient * normed, lanes);
      store_lanes(grad_bias + i, load_lanes(grad_bias + i, lanes) + gradient, lanes);
    }
  });
  const float mean_gradient = sum(sums) / static_cast<float>(a.width);
  const float pull = sum(dots) / static_cast<float>(a.width);
  const R* extra = a.extra == nullptr ? nullptr : static_cast<const R*>(a.extra) + offset;
  R* grad_x = static_cast<R*>(a.grad_x) + offset;
  T* grad_block = a.grad_block == nullptr ? nullptr : static_cast<T*>(a.grad_block) + offset;
  for_vectors(a.width, [&](int64_t i, auto lanes) {
    const F32 normed = (load_lanes(x + i, lanes) - mean) * inverse;
    const F32 scaled = load_lanes(grad_y + i, lanes) * load_lanes(a.weight + i, lanes);
    F32 gradient = (scaled - mean_gradient - normed * pull) * inverse;
    if (extra != nullptr) {
      gradient += load_lanes(extra + i, lanes);
    }
    store_lanes(grad_x + i, gradient, lanes);
    if (grad_block != nullptr) {
      store_lanes(grad_block + i, gradient, lanes);
    }
  });
}

template <typename T, typename R>
void layer_norm_backward(const LayerNormBackward& a, float* grad_weight, float* grad_bias, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    layer_norm_backward_row<T, R>(a, grad_weight, grad_bias, row);
  }
}

}  // namespace assay::engine::ASSAY_ISA
