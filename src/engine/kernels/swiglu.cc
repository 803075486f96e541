#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Swiglu : torch::autograd::Function<Swiglu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    const at::Tensor gate_TI = gate.contiguous();
    const at::Tensor up_TI = up.contiguous();
    ctx->save_for_backward({gate_TI, up_TI});
    if (const cuda::CudaOps* ops = cuda::ops_for(gate_TI); ops != nullptr) {
      return ops->swiglu_forward(gate_TI, up_TI);
    }
    const TypedKernels* kernels = kernels_for(gate_TI);
    if (kernels == nullptr) {
      return at::silu(gate_TI).mul_(up_TI);
    }
    at::Tensor y_TI = at::empty_like(gate_TI);
    parallel_elements(gate_TI.numel(), [&](int64_t begin, int64_t end) {
      kernels->swiglu_forward(gate_TI.const_data_ptr(), up_TI.const_data_ptr(), y_TI.mutable_data_ptr(), begin, end);
    });
    return y_TI;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& gate_TI = saved[0];
    const at::Tensor& up_TI = saved[1];
    const at::Tensor grad_TI = grads[0].contiguous();
    if (const cuda::CudaOps* ops = cuda::ops_for(gate_TI); ops != nullptr) {
      const auto [grad_gate_TI, grad_up_TI] = ops->swiglu_backward(grad_TI, gate_TI, up_TI);
      return {grad_gate_TI, grad_up_TI};
    }
    const TypedKernels* kernels = kernels_for(gate_TI);
    if (kernels == nullptr) {
      return {at::silu_backward(grad_TI * up_TI, gate_TI), grad_TI * at::silu(gate_TI)};
    }
    at::Tensor grad_gate_TI = at::empty_like(gate_TI);
    at::Tensor grad_up_TI = at::empty_like(up_TI);
    const SwigluBackward arguments{grad_TI.const_data_ptr(), gate_TI.const_data_ptr(), up_TI.const_data_ptr(),
                                   grad_gate_TI.mutable_data_ptr(), grad_up_TI.mutable_data_ptr()};
    parallel_elements(gate_TI.numel(),
                      [&](int64_t begin, int64_t end) { kernels->swiglu_backward(arguments, begin, end); });
    return {grad_gate_TI, grad_up_TI};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return Swiglu::apply(gate_TI, up_TI);
}

}  // namespace assay::engine
