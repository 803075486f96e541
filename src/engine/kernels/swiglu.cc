#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Swiglu : torch::autograd::Function<Swiglu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    const at::Tensor gate_TI = gate.contiguous();
    const at::Tensor up_TI = up.contiguous();
    ctx->save_for_backward({gate_TI, up_TI});
    return operations(gate_TI).swiglu_forward(gate_TI, up_TI);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const SwigluGradients result = operations(saved[0]).swiglu_backward(grads[0].contiguous(), saved[0], saved[1]);
    return {result.gate_TI, result.up_TI};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return Swiglu::apply(gate_TI, up_TI);
}

}  // namespace assay::engine
