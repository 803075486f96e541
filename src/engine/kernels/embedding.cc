#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& ids_T, const at::Tensor& weight_VH,
                            double multiplier) {
    ctx->save_for_backward({ids_T});
    ctx->saved_data["rows"] = weight_VH.size(0);
    ctx->saved_data["multiplier"] = multiplier;
    at::Tensor out_TH = weight_VH.index_select(0, ids_T);
    return multiplier == 1.0 ? out_TH : out_TH.mul_(multiplier);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor ids_T = ctx->get_saved_variables()[0];
    const double multiplier = ctx->saved_data["multiplier"].toDouble();
    const at::Tensor scaled_TH = multiplier == 1.0 ? grads[0] : grads[0] * multiplier;
    at::Tensor grad_VH = at::zeros({ctx->saved_data["rows"].toInt(), scaled_TH.size(1)}, scaled_TH.options());
    grad_VH.index_add_(0, ids_T, scaled_TH);
    return {{}, grad_VH, {}};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier) {
  return Embedding::apply(ids_T, weight_VH, multiplier);
}

}  // namespace assay::engine
