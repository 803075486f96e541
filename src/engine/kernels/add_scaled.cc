#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct AddScaled : torch::autograd::Function<AddScaled> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                            double multiplier) {
    ctx->saved_data["multiplier"] = multiplier;
    return operations(residual_TH).add_scaled(residual_TH.contiguous(), block_TH.contiguous(), multiplier);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const double multiplier = ctx->saved_data["multiplier"].toDouble();
    return {grads[0], multiplier == 1.0 ? grads[0] : grads[0] * multiplier, {}};
  }
};

}  // namespace

at::Tensor add_scaled(const at::Tensor& residual_TH, const at::Tensor& block_TH, double multiplier) {
  return AddScaled::apply(residual_TH, block_TH, multiplier);
}

}  // namespace assay::engine
