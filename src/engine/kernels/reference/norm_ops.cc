#include "engine/kernels/reference/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::reference {

RmsNormOutputs rms_norm_forward(const RmsNormInputs& in) {
  RmsNormOutputs out;
  out.x_TH = in.block_TH.defined() ? add_scaled(in.x_TH, in.block_TH, in.multiplier) : in.x_TH;
  const at::Tensor wide_TH = to_compute(out.x_TH);
  const at::Tensor inverse_T1 = wide_TH.square().mean(-1, /*keepdim=*/true).add_(in.eps).rsqrt_();
  out.y_TH = in.weight_H * (wide_TH * inverse_T1).to(in.x_TH.scalar_type());
  out.inverse_rms_T = inverse_T1.squeeze(-1);
  return out;
}

RmsNormGradients rms_norm_backward(const RmsNormSaved& saved) {
  RmsNormGradients result;
  const auto dtype = saved.x_TH.scalar_type();
  const at::Tensor inverse_T1 = saved.inverse_rms_T.unsqueeze(-1);
  const at::Tensor normed_TH = to_compute(saved.x_TH) * inverse_T1;
  const at::Tensor wide_grad_TH = to_compute(saved.grad_y_TH);
  if (saved.want_weight) {
    result.weight_H = (wide_grad_TH * normed_TH.to(dtype)).sum(0).to(saved.weight_H.scalar_type());
  }
  const at::Tensor scaled_TH = wide_grad_TH * to_compute(saved.weight_H);
  const at::Tensor dot_T1 = (scaled_TH * normed_TH).mean(-1, /*keepdim=*/true);
  at::Tensor grad_x_TH = (scaled_TH - normed_TH * dot_T1) * inverse_T1;
  if (saved.extra_TH.defined()) {
    grad_x_TH += saved.extra_TH;
  }
  result.x_TH = grad_x_TH.to(dtype);
  result.block_TH = saved.multiplier == 1.0 ? result.x_TH : result.x_TH * saved.multiplier;
  return result;
}

LayerNormOutputs layer_norm_forward(const LayerNormInputs& in) {
  LayerNormOutputs out;
  out.x_TH = in.block_TH.defined() ? in.x_TH + in.block_TH : in.x_TH;
  const at::Tensor wide_TH = to_compute(out.x_TH);
  const at::Tensor mean_T1 = wide_TH.mean(-1, /*keepdim=*/true);
  const at::Tensor distance_TH = wide_TH - mean_T1;
  const at::Tensor inverse_T1 = distance_TH.square().mean(-1, /*keepdim=*/true).add_(in.eps).rsqrt_();
  out.y_TH = (distance_TH * inverse_T1 * in.weight_H + in.bias_H).to(in.dtype);
  out.mean_T = mean_T1.squeeze(-1);
  out.inverse_deviation_T = inverse_T1.squeeze(-1);
  return out;
}

LayerNormGradients layer_norm_backward(const LayerNormSaved& saved) {
  LayerNormGradients result;
  const at::Tensor inverse_T1 = saved.inverse_deviation_T.unsqueeze(-1);
  const at::Tensor normed_TH = (to_compute(saved.x_TH) - saved.mean_T.unsqueeze(-1)) * inverse_T1;
  const at::Tensor wide_grad_TH = to_compute(saved.grad_y_TH);
  if (saved.want_affine) {
    result.affine_2H = at::stack({(wide_grad_TH * normed_TH).sum(0), wide_grad_TH.sum(0)});
  }
  const at::Tensor scaled_TH = wide_grad_TH * saved.weight_H;
  const at::Tensor pull_T1 = (scaled_TH * normed_TH).mean(-1, /*keepdim=*/true);
  at::Tensor grad_x_TH = (scaled_TH - scaled_TH.mean(-1, /*keepdim=*/true) - normed_TH * pull_T1) * inverse_T1;
  if (saved.extra_TH.defined()) {
    grad_x_TH += saved.extra_TH;
  }
  result.x_TH = grad_x_TH.to(saved.x_TH.scalar_type());
  result.block_TH = grad_x_TH.to(saved.grad_y_TH.scalar_type());
  return result;
}

}  // namespace assay::engine::reference
