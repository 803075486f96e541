#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

const char* approximation(bool tanh_form) {
  return tanh_form ? "tanh" : "none";
}

struct Gelu : torch::autograd::Function<Gelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& input, bool tanh_form) {
    const at::Tensor x = input.contiguous();
    ctx->save_for_backward({x});
    ctx->saved_data["tanh_form"] = tanh_form;
    if (const cuda::CudaOps* ops = cuda::ops_for(x); ops != nullptr) {
      return ops->gelu_forward(x, tanh_form);
    }
    const TypedKernels* kernels = kernels_for(x);
    if (kernels == nullptr) {
      return at::gelu(x, approximation(tanh_form));
    }
    at::Tensor y = at::empty_like(x);
    parallel_elements(x.numel(), [&](int64_t begin, int64_t end) {
      kernels->gelu_forward(x.const_data_ptr(), y.mutable_data_ptr(), tanh_form, begin, end);
    });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const bool tanh_form = ctx->saved_data["tanh_form"].toBool();
    const at::Tensor grad_y = grads[0].contiguous();
    if (const cuda::CudaOps* ops = cuda::ops_for(x); ops != nullptr) {
      return {ops->gelu_backward(grad_y, x, tanh_form), {}};
    }
    const TypedKernels* kernels = kernels_for(x);
    if (kernels == nullptr) {
      return {at::gelu_backward(grad_y, x, approximation(tanh_form)), {}};
    }
    at::Tensor grad_x = at::empty_like(x);
    parallel_elements(x.numel(), [&](int64_t begin, int64_t end) {
      kernels->gelu_backward(grad_y.const_data_ptr(), x.const_data_ptr(), grad_x.mutable_data_ptr(), tanh_form, begin,
                             end);
    });
    return {grad_x, {}};
  }
};

}  // namespace

at::Tensor gelu(const at::Tensor& x, GeluForm form) {
  return Gelu::apply(x, form == GeluForm::kTanh);
}

}  // namespace assay::engine
