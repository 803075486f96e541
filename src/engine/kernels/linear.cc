#include "engine/kernels/kept_input.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

/// What a product takes in: the parameter as it is, or a copy of the other operand's dtype for this product alone.
at::Tensor like_input(const at::Tensor& parameter, at::ScalarType dtype) {
  return parameter.defined() ? parameter.to(dtype) : parameter;
}

struct LinearFunction : torch::autograd::Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TI, const at::Tensor& weight_OI,
                            const std::optional<at::Tensor>& bias_O, const RecomputePtr& again, Output output,
                            const FrozenWeightPtr& frozen) {
    keep_frozen(ctx, frozen);
    ctx->save_for_backward({keep_input(ctx, x_TI, again, weight_OI.requires_grad()), weight_OI});
    ctx->saved_data["has_bias"] = bias_O.has_value();
    if (output == Output::kUnset) {
      return at::empty({x_TI.size(0), weight_OI.size(0)}, x_TI.options());
    }
    if (frozen) {
      return frozen->product_nt(x_TI, bias_O.value_or(at::Tensor()));
    }
    const auto dtype = x_TI.scalar_type();
    return product_nt(x_TI, like_input(weight_OI, dtype), like_input(bias_O.value_or(at::Tensor()), dtype));
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& grad_TO = grads[0];
    variable_list result(6);
    if (ctx->needs_input_grad(0)) {
      const FrozenWeightPtr frozen = kept_frozen(ctx);
      result[0] =
          frozen ? frozen->product_nn(grad_TO) : product_nn(grad_TO, like_input(saved[1], grad_TO.scalar_type()));
    }
    if (ctx->needs_input_grad(1)) {
      result[1] = product_tn(grad_TO, kept_input(ctx, saved[0])).to(saved[1].scalar_type());
    }
    if (ctx->saved_data["has_bias"].toBool() && ctx->needs_input_grad(2)) {
      result[2] = column_sums(grad_TO, saved[1].scalar_type());
    }
    return result;
  }
};

}  // namespace

at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O,
                  const RecomputePtr& again, Output output, const FrozenWeightPtr& frozen) {
  return LinearFunction::apply(x_TI, weight_OI, bias_O, again, output, frozen);
}

}  // namespace assay::engine
