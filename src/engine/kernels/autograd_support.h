// Small helpers that the differentiable operations share. Private to engine/kernels.
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

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

}  // namespace assay::engine
