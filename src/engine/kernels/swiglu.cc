#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Swiglu : torch::autograd::Function<Swiglu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate_TI, const at::Tensor& up_TI) {
    ctx->save_for_backward({gate_TI, up_TI});
    return at::silu(gate_TI).mul_(up_TI);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& gate_TI = saved[0];
    const at::Tensor& up_TI = saved[1];
    return {at::silu_backward(grads[0] * up_TI, gate_TI), grads[0] * at::silu(gate_TI)};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return Swiglu::apply(gate_TI, up_TI);
}

}  // namespace assay::engine
