#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& ids, const at::Tensor& weight_VH,
                            double multiplier) {
    const at::Tensor ids_T = ids.contiguous();
    ctx->save_for_backward({ids_T});
    ctx->saved_data["rows"] = weight_VH.size(0);
    ctx->saved_data["multiplier"] = multiplier;
    return operations(weight_VH).embedding_forward(ids_T, weight_VH.contiguous(), multiplier);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor grad_TH = grads[0].contiguous();
    return {
        {},
        operations(grad_TH).embedding_backward(grad_TH, ctx->get_saved_variables()[0], ctx->saved_data["rows"].toInt(),
                                               ctx->saved_data["multiplier"].toDouble()),
        {}};
  }
};

}  // namespace

at::Tensor embedding(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier) {
  return Embedding::apply(ids_T, weight_VH, multiplier);
}

}  // namespace assay::engine
