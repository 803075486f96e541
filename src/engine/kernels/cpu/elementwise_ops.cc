#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/parallel.h"

namespace assay::engine::cpu {

at::Tensor gelu_forward(const at::Tensor& x, bool tanh_form) {
  at::Tensor y = at::empty_like(x);
  const TypedKernels& loops = loops_for(x);
  parallel_elements(x.numel(), [&](int64_t begin, int64_t end) {
    loops.gelu_forward(x.const_data_ptr(), y.mutable_data_ptr(), tanh_form, begin, end);
  });
  return y;
}

at::Tensor gelu_backward(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form) {
  at::Tensor grad_x = at::empty_like(x);
  const TypedKernels& loops = loops_for(x);
  parallel_elements(x.numel(), [&](int64_t begin, int64_t end) {
    loops.gelu_backward(grad_y.const_data_ptr(), x.const_data_ptr(), grad_x.mutable_data_ptr(), tanh_form, begin, end);
  });
  return grad_x;
}

at::Tensor swiglu_forward(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  at::Tensor y_TI = at::empty_like(gate_TI);
  const TypedKernels& loops = loops_for(gate_TI);
  parallel_elements(gate_TI.numel(), [&](int64_t begin, int64_t end) {
    loops.swiglu_forward(gate_TI.const_data_ptr(), up_TI.const_data_ptr(), y_TI.mutable_data_ptr(), begin, end);
  });
  return y_TI;
}

SwigluGradients swiglu_backward(const at::Tensor& grad_TI, const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  const SwigluGradients result{at::empty_like(gate_TI), at::empty_like(up_TI)};
  const SwigluBackward arguments{grad_TI.const_data_ptr(), gate_TI.const_data_ptr(), up_TI.const_data_ptr(),
                                 result.gate_TI.mutable_data_ptr(), result.up_TI.mutable_data_ptr()};
  const TypedKernels& loops = loops_for(gate_TI);
  parallel_elements(gate_TI.numel(), [&](int64_t begin, int64_t end) { loops.swiglu_backward(arguments, begin, end); });
  return result;
}

at::Tensor add_scaled(const at::Tensor& a, const at::Tensor& b, double multiplier) {
  at::Tensor out = at::empty_like(a);
  const TypedKernels& loops = loops_for(a);
  parallel_elements(a.numel(), [&](int64_t begin, int64_t end) {
    loops.add_scaled(a.const_data_ptr(), b.const_data_ptr(), static_cast<float>(multiplier), out.mutable_data_ptr(),
                     begin, end);
  });
  return out;
}

}  // namespace assay::engine::cpu
