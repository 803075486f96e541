#include <vector>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Normed {
  at::Tensor y_TH;
  at::Tensor inverse_rms_T;
};

Normed norm_forward(const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
  const at::Tensor wide_TH = to_compute(x_TH);
  const at::Tensor inverse_T1 = wide_TH.square().mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
  return {weight_H * (wide_TH * inverse_T1).to(x_TH.scalar_type()), inverse_T1.squeeze(-1)};
}

struct NormGradients {
  at::Tensor x_TH;
  at::Tensor weight_H;
};

/// Gradients of the norm of `x_TH`; `extra_TH`, when defined, is added to the gradient of x before it is rounded.
NormGradients norm_backward(const at::Tensor& grad_y_TH, const at::Tensor& extra_TH, const at::Tensor& x_TH,
                            const at::Tensor& weight_H, const at::Tensor& inverse_rms_T, bool want_weight) {
  NormGradients result;
  const at::Tensor inverse_T1 = inverse_rms_T.unsqueeze(-1);
  const at::Tensor normed_TH = to_compute(x_TH) * inverse_T1;
  const at::Tensor wide_grad_TH = to_compute(grad_y_TH);
  if (want_weight) {
    result.weight_H = (wide_grad_TH * normed_TH.to(x_TH.scalar_type())).sum(0).to(weight_H.scalar_type());
  }
  const at::Tensor scaled_TH = wide_grad_TH * to_compute(weight_H);
  const at::Tensor dot_T1 = (scaled_TH * normed_TH).mean(-1, /*keepdim=*/true);
  at::Tensor grad_x_TH = (scaled_TH - normed_TH * dot_T1) * inverse_T1;
  if (extra_TH.defined()) {
    grad_x_TH += extra_TH;
  }
  result.x_TH = grad_x_TH.to(x_TH.scalar_type());
  return result;
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
    Normed normed = norm_forward(x_TH, weight_H, eps);
    ctx->save_for_backward({x_TH, weight_H, normed.inverse_rms_T});
    return normed.y_TH;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const NormGradients result = norm_backward(grads[0], {}, saved[0], saved[1], saved[2], ctx->needs_input_grad(1));
    return {result.x_TH, result.weight_H, {}};
  }
};

struct AddRmsNorm : torch::autograd::Function<AddRmsNorm> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                               const at::Tensor& weight_H, double eps, double multiplier) {
    const at::Tensor sum_TH = multiplier == 1.0 ? residual_TH + block_TH : residual_TH + block_TH * multiplier;
    Normed normed = norm_forward(sum_TH, weight_H, eps);
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({sum_TH, weight_H, normed.inverse_rms_T});
    ctx->saved_data["multiplier"] = multiplier;
    return {sum_TH, normed.y_TH};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const double multiplier = ctx->saved_data["multiplier"].toDouble();
    NormGradients result{grads[0], {}};
    if (grads[1].defined()) {
      result = norm_backward(grads[1], grads[0], saved[0], saved[1], saved[2], ctx->needs_input_grad(2));
    }
    const at::Tensor block_TH = multiplier == 1.0 ? result.x_TH : result.x_TH * multiplier;
    return {result.x_TH, block_TH, result.weight_H, {}, {}};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
  return RmsNorm::apply(x_TH, weight_H, eps);
}

std::pair<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& residual_TH, const at::Tensor& block_TH,
                                               const at::Tensor& weight_H, double eps, double multiplier) {
  variable_list outputs = AddRmsNorm::apply(residual_TH, block_TH, weight_H, eps, multiplier);
  return {outputs[0], outputs[1]};
}

}  // namespace assay::engine
