#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

at::Tensor scaled(const at::Tensor& x_TH, double multiplier) {
  return multiplier == 1.0 ? x_TH : x_TH * multiplier;
}

struct AddScaled : torch::autograd::Function<AddScaled> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                            double multiplier) {
    ctx->saved_data["multiplier"] = multiplier;
    if (const cuda::CudaOps* ops = cuda::ops_for(residual_TH); ops != nullptr) {
      return ops->add_scaled(residual_TH.contiguous(), block_TH.contiguous(), multiplier);
    }
    const TypedKernels* kernels = kernels_for(residual_TH);
    if (kernels == nullptr) {
      return residual_TH + scaled(block_TH, multiplier);
    }
    const at::Tensor residual = residual_TH.contiguous();
    const at::Tensor block = block_TH.contiguous();
    at::Tensor out_TH = at::empty_like(residual);
    parallel_elements(residual.numel(), [&](int64_t begin, int64_t end) {
      kernels->add_scaled(residual.const_data_ptr(), block.const_data_ptr(), static_cast<float>(multiplier),
                          out_TH.mutable_data_ptr(), begin, end);
    });
    return out_TH;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0], scaled(grads[0], ctx->saved_data["multiplier"].toDouble()), {}};
  }
};

}  // namespace

at::Tensor add_scaled(const at::Tensor& residual_TH, const at::Tensor& block_TH, double multiplier) {
  return AddScaled::apply(residual_TH, block_TH, multiplier);
}

}  // namespace assay::engine
