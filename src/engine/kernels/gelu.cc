#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Gelu : torch::autograd::Function<Gelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& input, bool tanh_form) {
    const at::Tensor x = input.contiguous();
    ctx->save_for_backward({x});
    ctx->saved_data["tanh_form"] = tanh_form;
    return operations(x).gelu_forward(x, tanh_form);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    return {operations(x).gelu_backward(grads[0].contiguous(), x, ctx->saved_data["tanh_form"].toBool()), {}};
  }
};

}  // namespace

at::Tensor gelu(const at::Tensor& x, GeluForm form) {
  return Gelu::apply(x, form == GeluForm::kTanh);
}

}  // namespace assay::engine
