// The table of operations: a row for each way to compute them, a column for each primitive. Private to engine/kernels.
//
// An operation's own file (rms_norm.cc) has its rule of differentiation and calls the row that operations() picks for
// its tensors. A row's functions are over tensors, without autograd: reference/ops.h says what each computes.
#pragma once

#include "engine/kernels/reference/ops.h"

namespace assay::engine {

/// A column's default is the reference row's, so a row names only what it has.
struct Operations {
  const char* name;
  decltype(&reference::rms_norm_forward) rms_norm_forward = reference::rms_norm_forward;
  decltype(&reference::rms_norm_backward) rms_norm_backward = reference::rms_norm_backward;
  decltype(&reference::layer_norm_forward) layer_norm_forward = reference::layer_norm_forward;
  decltype(&reference::layer_norm_backward) layer_norm_backward = reference::layer_norm_backward;
  decltype(&reference::gelu_forward) gelu_forward = reference::gelu_forward;
  decltype(&reference::gelu_backward) gelu_backward = reference::gelu_backward;
  decltype(&reference::swiglu_forward) swiglu_forward = reference::swiglu_forward;
  decltype(&reference::swiglu_backward) swiglu_backward = reference::swiglu_backward;
  decltype(&reference::add_scaled) add_scaled = reference::add_scaled;
  decltype(&reference::embedding_forward) embedding_forward = reference::embedding_forward;
  decltype(&reference::embedding_backward) embedding_backward = reference::embedding_backward;
  decltype(&reference::cross_entropy) cross_entropy = reference::cross_entropy;
  decltype(&reference::product) product = reference::product;
  decltype(&reference::add_product) add_product = reference::add_product;
  decltype(&reference::column_sums) column_sums = reference::column_sums;
  decltype(&reference::project_down) project_down = reference::project_down;
  decltype(&reference::project_up) project_up = reference::project_up;
  decltype(&reference::outer_sum) outer_sum = reference::outer_sum;
  decltype(&reference::dropout_mask) dropout_mask = reference::dropout_mask;
  decltype(&reference::attention) attention = reference::attention;
  decltype(&reference::rotate) rotate = reference::rotate;
  decltype(&reference::dequantize) dequantize = reference::dequantize;
  decltype(&reference::adamw) adamw = reference::adamw;
  decltype(&reference::sgd) sgd = reference::sgd;
  decltype(&reference::gradient_stats) gradient_stats = reference::gradient_stats;
};

namespace reference {
inline constexpr Operations kOperations{.name = "reference"};
}

/// The row for tensors of `dtype` on `device`: our kernels for float32, bfloat16 and float16 on the CPU and, in a build
/// with nvcc, on CUDA; the reference for all else. Tensors without storage
/// go the CPU's way, so that steps on shapes allocate what steps there do (shape_memory.h).
const Operations& operations(c10::Device device, at::ScalarType dtype);

inline const Operations& operations(const at::Tensor& x) {
  return operations(x.device(), x.scalar_type());
}

/// The same where the row's kernels take the operands as they are (`fits`), else the reference.
inline const Operations& operations_if(bool fits, const at::Tensor& x) {
  return fits ? operations(x) : reference::kOperations;
}

/// Makes operations() return `row` for the CPU's tensors of those dtypes; null: the CPU's own again. For tests, which
/// run the bodies of the CUDA kernels there.
void use_operations_on_cpu(const Operations* row);

}  // namespace assay::engine
