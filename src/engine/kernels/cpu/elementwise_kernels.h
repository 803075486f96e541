// RMSNorm, SwiGLU, residual sums, gathers and conversions. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

/// residual + multiplier * block with the product rounded to T first, as separate operations would.
template <typename T, typename Lanes>
F32 scaled_sum(const T* residual, const T* block, float multiplier, Lanes lanes) {
  F32 product = load_lanes(block, lanes);
  if (multiplier != 1.0F) {
    product = round_to<T>(product * multiplier);
  }
  return load_lanes(residual, lanes) + product;
}

template <typename T>
void norm_forward_row(const NormForward& a, int64_t row) {
  const int64_t offset = row * a.width;
  const T* x = static_cast<const T*>(a.x) + offset;
  F32 squares{};
  if (a.block != nullptr) {
    const T* block = static_cast<const T*>(a.block) + offset;
    T* total = static_cast<T*>(a.sum) + offset;
    for_vectors(a.width, [&](int64_t i, auto lanes) {
      const F32 value = round_to<T>(scaled_sum(x + i, block + i, a.multiplier, lanes));
      store_lanes(total + i, value, lanes);
      squares += value * value;
    });
    x = total;
  } else {
    for_vectors(a.width, [&](int64_t i, auto lanes) {
      const F32 value = load_lanes(x + i, lanes);
      squares += value * value;
    });
  }
  const float inverse = 1.0F / __builtin_sqrtf(sum(squares) / static_cast<float>(a.width) + a.eps);
  a.inverse_rms[row] = inverse;
  const T* weight = static_cast<const T*>(a.weight);
  T* y = static_cast<T*>(a.y) + offset;
  for_vectors(a.width, [&](int64_t i, auto lanes) {
    const F32 normed = round_to<T>(load_lanes(x + i, lanes) * inverse);
    store_lanes(y + i, normed * load_lanes(weight + i, lanes), lanes);
  });
}

template <typename T>
void norm_forward(const NormForward& a, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    norm_forward_row<T>(a, row);
  }
}

template <typename T>
void norm_backward_row(const NormBackward& a, float* grad_weight, int64_t row) {
  const int64_t offset = row * a.width;
  const T* grad_y = static_cast<const T*>(a.grad_y) + offset;
  const T* x = static_cast<const T*>(a.x) + offset;
  const T* weight = static_cast<const T*>(a.weight);
  const float inverse = a.inverse_rms[row];
  F32 dots{};
  for_vectors(a.width, [&](int64_t i, auto lanes) {
    dots += load_lanes(grad_y + i, lanes) * load_lanes(weight + i, lanes) * load_lanes(x + i, lanes);
  });
  const float pull = sum(dots) * inverse * inverse / static_cast<float>(a.width);
  const T* extra = a.extra == nullptr ? nullptr : static_cast<const T*>(a.extra) + offset;
  T* grad_x = static_cast<T*>(a.grad_x) + offset;
  T* grad_block = a.grad_block == nullptr ? nullptr : static_cast<T*>(a.grad_block) + offset;
  for_vectors(a.width, [&](int64_t i, auto lanes) {
    const F32 value = load_lanes(x + i, lanes);
    F32 gradient = (load_lanes(grad_y + i, lanes) * load_lanes(weight + i, lanes) - value * pull) * inverse;
    if (extra != nullptr) {
      gradient += load_lanes(extra + i, lanes);
    }
    store_lanes(grad_x + i, gradient, lanes);
    if (grad_block != nullptr) {
      store_lanes(grad_block + i, gradient * a.multiplier, lanes);
    }
  });
  if (grad_weight != nullptr) {
    for_vectors(a.width, [&](int64_t i, auto lanes) {
      const F32 normed = round_to<T>(load_lanes(x + i, lanes) * inverse);
      const F32 total = load_lanes(grad_weight + i, lanes) + load_lanes(grad_y + i, lanes) * normed;
      store_lanes(grad_weight + i, total, lanes);
    });
  }
}

template <typename T>
void norm_backward(const NormBackward& a, float* grad_weight, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    norm_backward_row<T>(a, grad_weight, row);
  }
}

inline F32 sigmoid(F32 x) {
  return 1.0F / (1.0F + exp(-x));
}

template <typename T>
void swiglu_forward(const void* gate, const void* up, void* y, int64_t begin, int64_t end) {
  const T* gates = static_cast<const T*>(gate) + begin;
  const T* ups = static_cast<const T*>(up) + begin;
  T* out = static_cast<T*>(y) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 g = load_lanes(gates + i, lanes);
    store_lanes(out + i, round_to<T>(g * sigmoid(g)) * load_lanes(ups + i, lanes), lanes);
  });
}

template <typename T>
void swiglu_backward(const SwigluBackward& a, int64_t begin, int64_t end) {
  const T* grad_y = static_cast<const T*>(a.grad_y) + begin;
  const T* gates = static_cast<const T*>(a.gate) + begin;
  const T* ups = static_cast<const T*>(a.up) + begin;
  T* grad_gate = static_cast<T*>(a.grad_gate) + begin;
  T* grad_up = static_cast<T*>(a.grad_up) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 gradient = load_lanes(grad_y + i, lanes);
    const F32 g = load_lanes(gates + i, lanes);
    const F32 s = sigmoid(g);
    store_lanes(grad_up + i, gradient * round_to<T>(g * s), lanes);
    store_lanes(grad_gate + i, gradient * load_lanes(ups + i, lanes) * (s * (1.0F + g * (1.0F - s))), lanes);
  });
}

template <typename T>
void add_scaled(const void* a, const void* b, float multiplier, void* out, int64_t begin, int64_t end) {
  const T* left = a == nullptr ? nullptr : static_cast<const T*>(a) + begin;
  const T* right = static_cast<const T*>(b) + begin;
  T* result = static_cast<T*>(out) + begin;
  for_vectors(end - begin, [&](int64_t i, auto lanes) {
    const F32 value = left == nullptr ? load_lanes(right + i, lanes) * multiplier
                                      : scaled_sum(left + i, right + i, multiplier, lanes);
    store_lanes(result + i, value, lanes);
  });
}

template <typename T>
void gather_rows(const void* table, const int64_t* ids, float multiplier, void* out, int64_t width, int64_t begin,
                 int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* source = static_cast<const T*>(table) + ids[row] * width;
    T* target = static_cast<T*>(out) + row * width;
    for_vectors(width, [&](int64_t i, auto lanes) {
      store_lanes(target + i, load_lanes(source + i, lanes) * multiplier, lanes);
    });
  }
}

template <typename T>
void sum_rows(const void* rows, const int64_t* indices, int64_t count, float multiplier, void* out, int64_t width) {
  T* target = static_cast<T*>(out);
  for_vectors(width, [&](int64_t i, auto lanes) {
    F32 total{};
    for (int64_t row = 0; row < count; ++row) {
      total += load_lanes(static_cast<const T*>(rows) + indices[row] * width + i, lanes);
    }
    store_lanes(target + i, total * multiplier, lanes);
  });
}

/// Rows are taken by fours, so that the sums pass through memory a quarter as often.
template <typename T>
void column_sums(const void* y, int64_t width, float* sums, int64_t begin, int64_t end) {
  constexpr int64_t kRows = 4;
  const T* data = static_cast<const T*>(y);
  int64_t row = begin;
  for (; row + kRows <= end; row += kRows) {
    const T* first = data + row * width;
    for_vectors(width, [&](int64_t i, auto lanes) {
      F32 total = load_lanes(sums + i, lanes);
      for (int64_t r = 0; r < kRows; ++r) {
        total += load_lanes(first + r * width + i, lanes);
      }
      store_lanes(sums + i, total, lanes);
    });
  }
  for (; row < end; ++row) {
    for_vectors(width, [&](int64_t i, auto lanes) {
      store_lanes(sums + i, load_lanes(sums + i, lanes) + load_lanes(data + row * width + i, lanes), lanes);
    });
  }
}

template <typename T>
void to_float32(const void* x, float* out, int64_t begin, int64_t end) {
  const T* source = static_cast<const T*>(x) + begin;
  for_vectors(end - begin,
              [&](int64_t i, auto lanes) { store_lanes(out + begin + i, load_lanes(source + i, lanes), lanes); });
}

template <typename T>
void from_float32(const float* x, void* out, int64_t begin, int64_t end) {
  T* target = static_cast<T*>(out) + begin;
  for_vectors(end - begin,
              [&](int64_t i, auto lanes) { store_lanes(target + i, load_lanes(x + begin + i, lanes), lanes); });
}

}  // namespace assay::engine::ASSAY_ISA
