#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct LoraLinear : torch::autograd::Function<LoraLinear> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TI, const at::Tensor& weight_OI,
                            const at::Tensor& bias_O, const at::Tensor& a_rI, const at::Tensor& b_Or, double scale,
                            double dropout) {
    at::Tensor mask_TI;
    at::Tensor dropped_TI = x_TI;
    if (dropout > 0.0) {
      std::tie(dropped_TI, mask_TI) = at::native_dropout(x_TI, dropout, /*train=*/true);
    }
    const at::Tensor low_Tr = at::mm(dropped_TI.to(a_rI.scalar_type()), a_rI.t());
    ctx->save_for_backward({x_TI, mask_TI, weight_OI, a_rI, b_Or, low_Tr});
    ctx->saved_data["scale"] = scale;
    ctx->saved_data["keep_scale"] = 1.0 / (1.0 - dropout);
    at::Tensor y_TO = bias_O.defined() ? at::addmm(bias_O, x_TI, weight_OI.t()) : at::mm(x_TI, weight_OI.t());
    return y_TO.add_(at::mm(low_Tr, b_Or.t()).mul_(scale));
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x_TI = saved[0], &mask_TI = saved[1], &weight_OI = saved[2];
    const at::Tensor &a_rI = saved[3], &b_Or = saved[4], &low_Tr = saved[5];
    const double scale = ctx->saved_data["scale"].toDouble();
    const double keep_scale = ctx->saved_data["keep_scale"].toDouble();
    const at::Tensor grad_TO = grads[0];
    const at::Tensor wide_TO = grad_TO.to(b_Or.scalar_type());
    const at::Tensor grad_low_Tr = at::mm(wide_TO, b_Or).mul_(scale);
    variable_list result(7);
    if (ctx->needs_input_grad(0)) {
      at::Tensor through_a_TI = at::mm(grad_low_Tr, a_rI);
      if (mask_TI.defined()) {
        through_a_TI.mul_(mask_TI).mul_(keep_scale);
      }
      result[0] = at::mm(grad_TO, weight_OI).add_(through_a_TI);
    }
    if (ctx->needs_input_grad(1)) {
      result[1] = at::mm(grad_TO.t(), x_TI);
    }
    if (ctx->needs_input_grad(2)) {
      result[2] = grad_TO.sum(0, /*keepdim=*/false, compute_dtype(grad_TO)).to(grad_TO.scalar_type());
    }
    if (ctx->needs_input_grad(3)) {
      at::Tensor dropped_TI = mask_TI.defined() ? x_TI * mask_TI * keep_scale : x_TI;
      result[3] = at::mm(grad_low_Tr.t(), dropped_TI.to(a_rI.scalar_type()));
    }
    if (ctx->needs_input_grad(4)) {
      result[4] = at::mm(wide_TO.t(), low_Tr).mul_(scale);
    }
    return result;
  }
};

}  // namespace

at::Tensor lora_linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O,
                       const LoraTensors& lora) {
  return LoraLinear::apply(x_TI, weight_OI, bias_O.value_or(at::Tensor()), lora.a_rI, lora.b_Or, lora.scale,
                           lora.dropout);
}

}  // namespace assay::engine
