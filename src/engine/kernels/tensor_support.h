// Small helpers over tensors that the operations and their rows share. Private to engine/kernels.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>

namespace assay::engine {

/// The dtype that arithmetic is done in: float32 for 16-bit tensors, else the tensor's own.
inline at::ScalarType compute_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

inline at::Tensor to_compute(const at::Tensor& x) {
  return x.to(compute_dtype(x));
}

/// Rows of a tensor whose last dimension is one row.
inline int64_t rows_of(const at::Tensor& x) {
  return x.numel() / std::max<int64_t>(1, x.size(-1));
}

inline at::Tensor contiguous_or_undefined(const at::Tensor& x) {
  return x.defined() ? x.contiguous() : x;
}

/// Data of an optional tensor: null when it is undefined.
inline const void* data_or_null(const at::Tensor& x) {
  return x.defined() ? x.const_data_ptr() : nullptr;
}
inline void* mutable_data_or_null(const at::Tensor& x) {
  return x.defined() ? x.mutable_data_ptr() : nullptr;
}

}  // namespace assay::engine
