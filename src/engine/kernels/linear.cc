#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TI, const at::Tensor& weight_OI,
                            const at::Tensor& bias_O) {
    ctx->save_for_backward({weight_OI.requires_grad() ? x_TI : at::Tensor(), weight_OI});
    return bias_O.defined() ? at::addmm(bias_O, x_TI, weight_OI.t()) : at::mm(x_TI, weight_OI.t());
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& grad_TO = grads[0];
    variable_list result(3);
    if (ctx->needs_input_grad(0)) {
      result[0] = at::mm(grad_TO, saved[1]);
    }
    if (ctx->needs_input_grad(1)) {
      result[1] = at::mm(grad_TO.t(), saved[0]);
    }
    if (ctx->needs_input_grad(2)) {
      result[2] = grad_TO.sum(0, /*keepdim=*/false, compute_dtype(grad_TO)).to(grad_TO.scalar_type());
    }
    return result;
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O) {
  return LinearFunction::apply(x_TI, weight_OI, bias_O.value_or(at::Tensor()));
}

}  // namespace assay::engine
