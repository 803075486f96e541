// Small helpers that the differentiable operations share. Private to engine/kernels.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "engine/kernels/cpu/cpu_kernels.h"

namespace assay::engine {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The dtype that arithmetic is done in: float32 for 16-bit tensors, else the tensor's own.
inline at::ScalarType compute_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

inline at::Tensor to_compute(const at::Tensor& x) {
  return x.to(compute_dtype(x));
}

/// Our kernels for tensors like `x`; null where libtorch's own operations are used instead (CUDA, float64).
inline const TypedKernels* kernels_for(const at::Tensor& x) {
  if (!x.device().is_cpu()) {
    return nullptr;
  }
  switch (x.scalar_type()) {
    case at::kFloat:
      return &cpu_kernels().of(CpuDtype::kFloat32);
    case at::kBFloat16:
      return &cpu_kernels().of(CpuDtype::kBfloat16);
    case at::kHalf:
      return &cpu_kernels().of(CpuDtype::kFloat16);
    default:
      return nullptr;
  }
}

/// Elements below which a second thread costs more than it brings.
inline constexpr int64_t kElementsPerTask = 16384;

/// Rows that are summed into one row of float32 by one thread, so that the sum is the same whatever the threads.
inline constexpr int64_t kRowsPerPartial = 64;

/// Runs body(begin, end) over [0, rows) on libtorch's threads; a row is `width` elements of work.
template <typename Body>
void parallel_rows(int64_t rows, int64_t width, const Body& body) {
  at::parallel_for(0, rows, std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(1, width)), body);
}

/// Runs body(begin, end) over [0, elements); the borders are multiples of a cache line's elements.
template <typename Body>
void parallel_elements(int64_t elements, const Body& body) {
  constexpr int64_t kStretch = 1024;
  parallel_rows((elements + kStretch - 1) / kStretch, kStretch,
                [&](int64_t begin, int64_t end) { body(begin * kStretch, std::min(end * kStretch, elements)); });
}

/// Data of an optional tensor: null when it is undefined.
inline const void* data_or_null(const at::Tensor& x) {
  return x.defined() ? x.const_data_ptr() : nullptr;
}
inline void* mutable_data_or_null(const at::Tensor& x) {
  return x.defined() ? x.mutable_data_ptr() : nullptr;
}

}  // namespace assay::engine
