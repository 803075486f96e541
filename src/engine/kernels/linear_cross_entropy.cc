#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ceilings.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

/// At most this many logits exist at once: 512 rows of a vocabulary of 49,152. Measured on SmolLM2's head (49,152 x
/// 576, Zen 4): in bfloat16 433 rows run as fast as 866, and 217 lose an eighth in the gradient of the hidden states.
constexpr int64_t kChunkLogits = int64_t{24} << 20;
/// With a trainable head every further chunk is one more pass over its gradient and one more rounding, so chunks are
/// larger: 48 Mi logits of 16 bits, half as many in float32.
constexpr int64_t kTrainableChunkBytes = int64_t{96} << 20;
/// A GPU needs products of some thousand rows to be busy; these logits are 256 MiB in bfloat16.
constexpr int64_t kCudaChunkLogits = int64_t{128} << 20;

struct LossAndGradients {
  at::Tensor loss;
  at::Tensor hidden_SH;
  at::Tensor weight_VH;
};

/// Tokens to a chunk: as many as the memory bound allows, and all chunks about equally large.
int64_t chunk_rows(int64_t supervised, const at::Tensor& weight_VH, bool want_weight) {
  const int64_t on_cpu =
      want_weight ? kTrainableChunkBytes / static_cast<int64_t>(weight_VH.element_size()) : kChunkLogits;
  const int64_t logits = weight_VH.is_cuda() ? kCudaChunkLogits : on_cpu;
  const int64_t most = std::max<int64_t>(1, logits / weight_VH.size(0));
  const int64_t chunks = std::max<int64_t>(1, (supervised + most - 1) / most);
  return std::max<int64_t>(1, (supervised + chunks - 1) / chunks);
}

/// What is computed beside the loss, the gradient of the loss that it is computed for, and its targets' smoothing.
struct Wanted {
  bool hidden;
  bool weight;
  double loss_gradient;
  double smoothing;
};

LossAndGradients compute(const at::Tensor& hidden_SH, const at::Tensor& weight_VH, const at::Tensor& targets_S,
                         double logits_divisor, const Wanted& want, const FrozenWeightPtr& frozen) {
  LossAndGradients result;
  const double gradient = want.hidden || want.weight ? want.loss_gradient : 0.0;
  const int64_t supervised = hidden_SH.size(0);
  const int64_t chunk = chunk_rows(supervised, weight_VH, want.weight);
  result.loss = at::zeros({}, hidden_SH.options().dtype(compute_dtype(hidden_SH)));
  if (want.hidden) {
    result.hidden_SH = at::empty_like(hidden_SH);
  }
  const Operations& row = operations(hidden_SH);
  for (int64_t begin = 0; begin < supervised; begin += chunk) {
    const int64_t rows = std::min(chunk, supervised - begin);
    const at::Tensor hidden_CH = hidden_SH.narrow(0, begin, rows);
    at::Tensor logits_CV = frozen ? frozen->product_nt(hidden_CH, {}) : product_nt(hidden_CH, weight_VH);
    result.loss +=
        row.cross_entropy(logits_CV, targets_S.narrow(0, begin, rows), logits_divisor, gradient, want.smoothing);
    if (want.hidden) {
      result.hidden_SH.narrow(0, begin, rows)
          .copy_(frozen ? frozen->product_nn(logits_CV) : product_nn(logits_CV, weight_VH));
    }
    if (want.weight) {
      result.weight_VH = add_product_tn(result.weight_VH, logits_CV, hidden_CH);
    }
  }
  if (want.weight && !result.weight_VH.defined()) {
    result.weight_VH = at::zeros_like(weight_VH);
  }
  return result;
}

struct LinearCrossEntropy : torch::autograd::Function<LinearCrossEntropy> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& hidden_TH, const at::Tensor& weight_VH,
                            const at::Tensor& positions_S, const at::Tensor& targets_S, double logits_divisor,
                            const Wanted& want, const FrozenWeightPtr& frozen) {
    const LossAndGradients result = compute(hidden_TH.index_select(0, positions_S), weight_VH.contiguous(),
                                            targets_S.contiguous(), logits_divisor, want, frozen);
    ctx->save_for_backward({result.hidden_SH, result.weight_VH, positions_S});
    ctx->saved_data["tokens"] = hidden_TH.size(0);
    ctx->saved_data["loss_gradient"] = want.loss_gradient;
    return result.loss;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor factor = grads[0] / ctx->saved_data["loss_gradient"].toDouble();
    variable_list result(7);
    if (ctx->needs_input_grad(0)) {
      const at::Tensor scaled_SH = (saved[0] * factor).to(saved[0].scalar_type());
      result[0] = at::zeros({ctx->saved_data["tokens"].toInt(), scaled_SH.size(1)}, scaled_SH.options());
      result[0].index_copy_(0, saved[2], scaled_SH);
    }
    if (ctx->needs_input_grad(1)) {
      // In place: a second [V, H] gradient at the peak of the step would be the largest tensor of all.
      result[1] = saved[1].mul_(factor);
    }
    return result;
  }
};

}  // namespace

at::Tensor linear_cross_entropy_sum(const at::Tensor& hidden_TH, const at::Tensor& weight_VH,
                                    const at::Tensor& positions_S, const at::Tensor& targets_S, double logits_divisor,
                                    const FrozenWeightPtr& frozen, double loss_gradient, double label_smoothing) {
  TORCH_CHECK(loss_gradient != 0.0, "linear_cross_entropy_sum: nothing can be computed for a loss gradient of 0");
  const bool grad = at::GradMode::is_enabled();
  const Wanted want{grad && hidden_TH.requires_grad(), grad && weight_VH.requires_grad(), loss_gradient,
                    label_smoothing};
  return LinearCrossEntropy::apply(hidden_TH, weight_VH, positions_S, targets_S, logits_divisor, want, frozen);
}

int64_t linear_cross_entropy_bytes(int64_t supervised, const at::Tensor& weight_VH) {
  const bool trained = weight_VH.requires_grad();
  const int64_t chunk = std::min(supervised, chunk_rows(supervised, weight_VH, trained));
  const int64_t logits = chunk * weight_VH.size(0);
  // The supervised hidden states, their gradient, and one chunk of it as it comes out of its product.
  const int64_t hidden = (2 * supervised + chunk) * weight_VH.size(1);
  int64_t head = trained ? weight_VH.numel() : 0;
  int64_t copies = 0;
  if (weight_VH.is_cpu() && products_through_float32(weight_VH.scalar_type())) {
    copies = float32_copy_bytes(chunk, weight_VH.size(1), weight_VH.size(0));
    head *= chunk < supervised ? 2 : 1;  // the sum over chunks, and what a chunk adds
  }
  return (logits + hidden + head) * static_cast<int64_t>(weight_VH.element_size()) + copies;
}

}  // namespace assay::engine
