#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

/// Our kernels know a residual stream of float32 beside a result of 16 bits.
const Operations& layer_norm_row(const at::Tensor& x, at::ScalarType dtype) {
  const bool known = x.scalar_type() == dtype || x.scalar_type() == at::kFloat;
  return known ? operations(x.device(), dtype) : reference::kOperations;
}

/// `block` undefined: the norm of x alone.
LayerNormOutputs norm_forward(const at::Tensor& x, const at::Tensor& block, const at::Tensor& weight_H,
                              const at::Tensor& bias_H, double eps, at::ScalarType dtype) {
  return layer_norm_row(x, dtype).layer_norm_forward({.x_TH = x.contiguous(),
                                                      .block_TH = contiguous_or_undefined(block),
                                                      .weight_H = to_compute(weight_H).contiguous(),
                                                      .bias_H = to_compute(bias_H).contiguous(),
                                                      .eps = eps,
                                                      .dtype = dtype});
}

/// Of x, block, weight and bias; `saved` are what save() kept.
variable_list norm_backward(const at::Tensor& grad_y, const at::Tensor& extra, const variable_list& saved,
                            bool want_affine) {
  const at::Tensor& weight_H = saved[1];
  const LayerNormGradients result = layer_norm_row(saved[0], grad_y.scalar_type())
                                        .layer_norm_backward({.grad_y_TH = grad_y.contiguous(),
                                                              .extra_TH = contiguous_or_undefined(extra),
                                                              .x_TH = saved[0],
                                                              .weight_H = to_compute(weight_H).contiguous(),
                                                              .mean_T = saved[2],
                                                              .inverse_deviation_T = saved[3],
                                                              .want_affine = want_affine});
  variable_list gradients{result.x_TH, result.block_TH, {}, {}};
  if (want_affine) {
    const at::Tensor affine_2H = result.affine_2H.to(weight_H.scalar_type());
    gradients[2] = affine_2H.select(0, 0).clone();
    gradients[3] = affine_2H.select(0, 1).clone();
  }
  return gradients;
}

void save(AutogradContext* ctx, const LayerNormOutputs& normed, const at::Tensor& weight_H) {
  ctx->save_for_backward({normed.x_TH, weight_H, normed.mean_T, normed.inverse_deviation_T});
}

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TH, const at::Tensor& weight_H,
                            const at::Tensor& bias_H, double eps, at::ScalarType dtype) {
    LayerNormOutputs normed = norm_forward(x_TH, {}, weight_H, bias_H, eps, dtype);
    save(ctx, normed, weight_H);
    return normed.y_TH;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const bool want_affine = ctx->needs_input_grad(1) || ctx->needs_input_grad(2);
    const variable_list result = norm_backward(grads[0], {}, ctx->get_saved_variables(), want_affine);
    return {result[0], result[2], result[3], {}, {}};
  }
};

struct AddLayerNorm : torch::autograd::Function<AddLayerNorm> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                               const at::Tensor& weight_H, const at::Tensor& bias_H, double eps) {
    LayerNormOutputs normed = norm_forward(residual_TH, block_TH, weight_H, bias_H, eps, block_TH.scalar_type());
    ctx->set_materialize_grads(false);
    save(ctx, normed, weight_H);
    ctx->saved_data["block_dtype"] = block_TH.scalar_type();
    return {normed.x_TH, normed.y_TH};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    if (!grads[1].defined()) {
      const auto dtype = ctx->saved_data["block_dtype"].toScalarType();
      return {grads[0], grads[0].defined() ? grads[0].to(dtype) : at::Tensor(), {}, {}, {}};
    }
    const bool want_affine = ctx->needs_input_grad(2) || ctx->needs_input_grad(3);
    const variable_list result = norm_backward(grads[1], grads[0], ctx->get_saved_variables(), want_affine);
    return {result[0], result[1], result[2], result[3], {}};
  }
};

}  // namespace

at::Tensor layer_norm(const at::Tensor& x_TH, const at::Tensor& weight_H, const at::Tensor& bias_H, double eps,
                      std::optional<at::ScalarType> dtype) {
  return LayerNorm::apply(x_TH, weight_H, bias_H, eps, dtype.value_or(x_TH.scalar_type()));
}

std::pair<at::Tensor, at::Tensor> add_layer_norm(const at::Tensor& residual_TH, const at::Tensor& block_TH,
                                                 const at::Tensor& weight_H, const at::Tensor& bias_H, double eps) {
  variable_list outputs = AddLayerNorm::apply(residual_TH, block_TH, weight_H, bias_H, eps);
  return {outputs[0], outputs[1]};
}

}  // namespace assay::engine
