// LayerNorm and GELU by our CUDA kernels.
#include <ATen/ATen.h>

#include <algorithm>

#include "engine/kernels/cuda/launch_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::cuda {
namespace {

/// Blocks that sum the gradients of weight and bias: enough to fill any GPU twice. Fixed, so that sums do not depend on
/// the device.
constexpr int64_t kLayerNormParts = 512;

}  // namespace

LayerNormOutputs layer_norm_forward(const LayerNormInputs& in) {
  LayerNormOutputs out;
  const int64_t width = in.x_TH.size(-1);
  const int64_t rows = rows_of(in.x_TH);
  out.x_TH = in.block_TH.defined() ? at::empty_like(in.x_TH) : in.x_TH;
  out.y_TH = at::empty_like(in.x_TH, in.x_TH.options().dtype(in.dtype));
  out.mean_T = at::empty({rows}, in.x_TH.options().dtype(at::kFloat));
  out.inverse_deviation_T = at::empty_like(out.mean_T);
  const LayerNormForward task{.x = in.x_TH.const_data_ptr(),
                              .block = data_or_null(in.block_TH),
                              .weight = in.weight_H.const_data_ptr<float>(),
                              .bias = in.bias_H.const_data_ptr<float>(),
                              .sum = in.block_TH.defined() ? out.x_TH.mutable_data_ptr() : nullptr,
                              .y = out.y_TH.mutable_data_ptr(),
                              .mean = out.mean_T.mutable_data_ptr<float>(),
                              .inverse_deviation = out.inverse_deviation_T.mutable_data_ptr<float>(),
                              .rows = rows,
                              .width = width,
                              .eps = static_cast<float>(in.eps)};
  on_stream_of(in.x_TH, [&](Stream stream) { launch(task, dtype_of(out.y_TH), dtype_of(in.x_TH), stream); });
  return out;
}

LayerNormGradients layer_norm_backward(const LayerNormSaved& in) {
  LayerNormGradients result;
  const int64_t width = in.x_TH.size(-1);
  const int64_t rows = in.mean_T.size(0);
  const bool one_dtype = in.x_TH.scalar_type() == in.grad_y_TH.scalar_type();
  result.x_TH = at::empty_like(in.x_TH);
  result.block_TH = one_dtype ? result.x_TH : at::empty_like(in.grad_y_TH);
  const int64_t parts = std::min(rows, kLayerNormParts);
  at::Tensor part_P2H;
  if (in.want_affine) {
    part_P2H = at::empty({parts, 2, width}, in.mean_T.options());
  }
  const LayerNormBackward task{.grad_y = in.grad_y_TH.const_data_ptr(),
                               .extra = data_or_null(in.extra_TH),
                               .x = in.x_TH.const_data_ptr(),
                               .weight = in.weight_H.const_data_ptr<float>(),
                               .mean = in.mean_T.const_data_ptr<float>(),
                               .inverse_deviation = in.inverse_deviation_T.const_data_ptr<float>(),
                               .grad_x = result.x_TH.mutable_data_ptr(),
                               .grad_block = one_dtype ? nullptr : result.block_TH.mutable_data_ptr(),
                               .grad_affine = static_cast<float*>(mutable_data_or_null(part_P2H)),
                               .parts = parts,
                               .rows = rows,
                               .width = width};
  on_stream_of(in.x_TH, [&](Stream stream) { launch(task, dtype_of(in.grad_y_TH), dtype_of(in.x_TH), stream); });
  if (in.want_affine) {
    result.affine_2H = part_P2H.sum(0);
  }
  return result;
}

at::Tensor gelu_forward(const at::Tensor& x, bool tanh_form) {
  at::Tensor y = at::empty_like(x);
  launch_on(
      x, GeluForward{.x = x.const_data_ptr(), .y = y.mutable_data_ptr(), .count = x.numel(), .tanh_form = tanh_form});
  return y;
}

at::Tensor gelu_backward(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form) {
  at::Tensor grad_x = at::empty_like(x);
  launch_on(x, GeluBackward{.grad_y = grad_y.const_data_ptr(),
                            .x = x.const_data_ptr(),
                            .grad_x = grad_x.mutable_data_ptr(),
                            .count = x.numel(),
                            .tanh_form = tanh_form});
  return grad_x;
}

}  // namespace assay::engine::cuda
