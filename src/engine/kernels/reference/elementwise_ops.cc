#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>

#include "engine/kernels/reference/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::reference {
namespace {

const char* approximation(bool tanh_form) {
  return tanh_form ? "tanh" : "none";
}

}  // namespace

at::Tensor gelu_forward(const at::Tensor& x, bool tanh_form) {
  return at::gelu(x, approximation(tanh_form));
}

at::Tensor gelu_backward(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form) {
  return at::gelu_backward(grad_y, x, approximation(tanh_form));
}

at::Tensor swiglu_forward(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return at::silu(gate_TI).mul_(up_TI);
}

SwigluGradients swiglu_backward(const at::Tensor& grad_TI, const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return {at::silu_backward(grad_TI * up_TI, gate_TI), grad_TI * at::silu(gate_TI)};
}

at::Tensor add_scaled(const at::Tensor& a, const at::Tensor& b, double multiplier) {
  return a + (multiplier == 1.0 ? b : b * multiplier);
}

at::Tensor embedding_forward(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier) {
  at::Tensor out_TH = weight_VH.index_select(0, ids_T);
  return multiplier == 1.0 ? out_TH : out_TH.mul_(multiplier);
}

/// Unlike index_add_ on a GPU, libtorch's own backward sums in the same order on every run.
at::Tensor embedding_backward(const at::Tensor& grad_TH, const at::Tensor& ids_T, int64_t rows, double multiplier) {
  at::Tensor grad_VH = at::embedding_dense_backward(grad_TH, ids_T, rows, /*padding_idx=*/-1,
                                                    /*scale_grad_by_freq=*/false);
  return multiplier == 1.0 ? grad_VH : grad_VH.mul_(multiplier);
}

at::Tensor cross_entropy(at::Tensor& logits_CV, const at::Tensor& targets_C, double divisor, double gradient,
                         double smoothing) {
  const at::Tensor scaled_CV = to_compute(divisor == 1.0 ? logits_CV : logits_CV / divisor);
  const at::Tensor log_probability_CV = at::log_softmax(scaled_CV, -1);
  const at::Tensor index_C1 = targets_C.unsqueeze(-1);
  at::Tensor loss = log_probability_CV.gather(-1, index_C1).sum().neg_();
  if (smoothing != 0.0) {
    loss = loss * (1 - smoothing) - log_probability_CV.mean(-1).sum() * smoothing;
  }
  if (gradient != 0.0) {
    at::Tensor gradient_CV = log_probability_CV.exp();
    gradient_CV.scatter_add_(-1, index_C1, at::full_like(index_C1, smoothing - 1.0, gradient_CV.options()));
    gradient_CV.sub_(smoothing / static_cast<double>(logits_CV.size(-1)));
    logits_CV = gradient_CV.mul_(gradient / divisor).to(logits_CV.scalar_type());
  }
  return loss;
}

}  // namespace assay::engine::reference
