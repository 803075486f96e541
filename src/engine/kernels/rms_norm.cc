#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

const Operations& rms_norm_row(const at::Tensor& x, const at::Tensor& weight_H) {
  return operations_if(x.scalar_type() == weight_H.scalar_type(), x);
}

/// `block` undefined: the norm of x alone.
RmsNormOutputs norm_forward(const at::Tensor& x, const at::Tensor& block, const at::Tensor& weight_H, double eps,
                            double multiplier) {
  return rms_norm_row(x, weight_H)
      .rms_norm_forward({.x_TH = x.contiguous(),
                         .block_TH = contiguous_or_undefined(block),
                         .weight_H = weight_H.contiguous(),
                         .eps = eps,
                         .multiplier = multiplier});
}

/// `saved` are x, weight and the inverse of the root mean square.
RmsNormGradients norm_backward(const at::Tensor& grad_y, const at::Tensor& extra, const variable_list& saved,
                               double multiplier, bool want_weight) {
  return rms_norm_row(saved[0], saved[1])
      .rms_norm_backward({.grad_y_TH = grad_y.contiguous(),
                          .extra_TH = contiguous_or_undefined(extra),
                          .x_TH = saved[0],
                          .weight_H = saved[1].contiguous(),
                          .inverse_rms_T = saved[2],
                          .multiplier = multiplier,
                          .want_weight = want_weight});
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
    RmsNormOutputs normed = norm_forward(x_TH, {}, weight_H, eps, 1.0);
    ctx->save_for_backward({normed.x_TH, weight_H, normed.inverse_rms_T});
    return normed.y_TH;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const RmsNormGradients result =
        norm_backward(grads[0], {}, ctx->get_saved_variables(), 1.0, ctx->needs_input_grad(1));
    return {result.x_TH, result.weight_H, {}};
  }
};

struct AddRmsNorm : torch::autograd::Function<AddRmsNorm> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                               const at::Tensor& weight_H, double eps, double multiplier) {
    RmsNormOutputs normed = norm_forward(residual_TH, block_TH, weight_H, eps, multiplier);
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({normed.x_TH, weight_H, normed.inverse_rms_T});
    ctx->saved_data["multiplier"] = multiplier;
    return {normed.x_TH, normed.y_TH};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const double multiplier = ctx->saved_data["multiplier"].toDouble();
    if (!grads[1].defined()) {
      return {grads[0], multiplier == 1.0 || !grads[0].defined() ? grads[0] : grads[0] * multiplier, {}, {}, {}};
    }
    const RmsNormGradients result =
        norm_backward(grads[1], grads[0], ctx->get_saved_variables(), multiplier, ctx->needs_input_grad(2));
    return {result.x_TH, result.block_TH, result.weight_H, {}, {}};
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
