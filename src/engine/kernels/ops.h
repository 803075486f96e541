// The differentiable operations that models are made of. Models call these and know nothing of how they are done.
//
// Every function takes part in autograd: its backward is written by hand beside its forward. All accept float32,
// bfloat16 and float16 on CPU and CUDA; nothing is upcast as a whole tensor. Tensors are contiguous, last dimension
// fastest. Where a tensor does not require grad, no gradient for it is computed. Errors are exceptions (c10::Error).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/kernels/frozen_weight.h"
#include "engine/kernels/gelu_form.h"
#include "engine/kernels/packed_batch.h"
#include "engine/kernels/recompute.h"

namespace assay::engine {

/// Rows of `weight_VH` at `ids_T`, times `multiplier` (Granite's embedding_multiplier; 1 elsewhere).
at::Tensor embedding(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier = 1.0);

/// Root-mean-square norm (Zhang & Sennrich 2019): x / sqrt(mean(x^2) + eps) in float32, rounded to the dtype of x,
/// then times the weight; the rounding order of transformers.
at::Tensor rms_norm(const at::Tensor& x_TH, const at::Tensor& weight_H, double eps);

/// The residual connection and the norm that follows it, in one pass: returns (r, rms_norm(r)) with
/// r = residual + multiplier * block.
std::pair<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& residual_TH, const at::Tensor& block_TH,
                                               const at::Tensor& weight_H, double eps, double multiplier = 1.0);

/// residual + multiplier * block.
at::Tensor add_scaled(const at::Tensor& residual_TH, const at::Tensor& block_TH, double multiplier = 1.0);

/// Cosines and sines of rotary positions (Su et al. 2021), float32 [positions, D / 2], attention scaling included.
struct RotaryTable {
  at::Tensor cos_PD2;
  at::Tensor sin_PD2;
};

struct AttentionOptions {
  int64_t query_heads = 0;
  int64_t key_value_heads = 0;  ///< grouped-query attention: divides query_heads
  int64_t head_dim = 0;
  double scale = 0;  ///< of the scores
  /// A query sees the last `sliding_window` keys including its own; 0: all earlier ones.
  int64_t sliding_window = 0;
  bool causal = true;  ///< else every query sees the whole row; there is no sliding window then
  /// Chance that a probability is dropped. Unless it is 0, rows are attended one after the other in libtorch's own
  /// operations, which keep all probabilities: slow, and much memory.
  double dropout = 0.0;
  uint64_t dropout_stream = 0;  ///< of the first query head; the next one has the next
};

/// Where attention() leaves its result for a second call on equal inputs, which then takes it from there instead of
/// computing it (gradient checkpointing). A call fills it when it is empty and empties it when it is full. CUDA leaves
/// it empty.
struct KeptAttention {
  at::Tensor out_TND;
  at::Tensor log_sum_exp_NT;
};

/// Self-attention within each row of the batch. Rotates q and k by `rotary` (rotate-half layout) when given.
/// q is [T, N * D], k and v are [T, K * D]; returns [T, N * D]. `kept`: see KeptAttention; null: none.
at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* kept = nullptr);

/// Layer norm (Ba et al. 2016): (x - mean) / sqrt(variance + eps) * weight + bias, in float32 and rounded once, to
/// `dtype` where given, else to that of x. Weight and bias may be of another dtype than x. x of another dtype than the
/// result must be float32.
at::Tensor layer_norm(const at::Tensor& x_TH, const at::Tensor& weight_H, const at::Tensor& bias_H, double eps,
                      std::optional<at::ScalarType> dtype = std::nullopt);

/// The residual connection and the layer norm that follows it, in one pass: returns (r, layer_norm(r)) with
/// r = residual + block. The sum keeps the residual's dtype, the norm has the block's; where they differ the residual
/// is float32.
std::pair<at::Tensor, at::Tensor> add_layer_norm(const at::Tensor& residual_TH, const at::Tensor& block_TH,
                                                 const at::Tensor& weight_H, const at::Tensor& bias_H, double eps);

at::Tensor gelu(const at::Tensor& x, GeluForm form = GeluForm::kErf);

/// What makes tokens of an image (Dosovitskiy et al. 2020): a convolution whose stride is its kernel, a class token
/// before the patches, and a position for each.
struct PatchEmbedding {
  at::Tensor weight_HCPP;  ///< [H, channels, P, P]
  at::Tensor bias_H;
  at::Tensor class_token_11H;
  at::Tensor positions_1LH;  ///< L: tokens of an image, class token first
};

/// Tokens [images * L, H] of `pixels` [images, channels, height, width], both multiples of P; image by image, patches
/// row by row. The product is done in `dtype`, the sums with it in the parameters' dtype, which the result has. Pixels
/// get no gradient.
at::Tensor embed_patches(const at::Tensor& pixels, const PatchEmbedding& parameters, at::ScalarType dtype);

/// silu(gate) * up (Shazeer 2020).
at::Tensor swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI);
/// The same, each row times its weight: what follows it is linear, and so weighted with it. The weights' gradient is
/// summed in float32; no row is kept for it.
at::Tensor weighted_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI, const at::Tensor& weights_T);

/// Whether a layer that runs again in backward has its output computed. Where nothing reads its numbers they stay
/// unset: only its place in the graph counts.
enum class Output { kComputed, kUnset };

/// x W^T + b. With `again`, backward makes x again where it needs it, and x is not kept. Weight and bias may be float32
/// beside a 16-bit x: they are rounded for each product, and their gradients are float32. `frozen`, where given, is of
/// this weight, which is frozen then.
at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O,
                  const RecomputePtr& again = {}, Output output = Output::kComputed,
                  const FrozenWeightPtr& frozen = {});

/// What a dropout mask is drawn by. The number of an element follows from the token's key, the stream and the feature
/// alone: it is the same in any batch, on any device and of any part of the features.
struct DropoutDraw {
  at::Tensor keys_T;    ///< PackedBatch::draw_keys_T, or those of some tokens
  uint64_t stream = 0;  ///< what else than the token tells masks apart: the layer
  double chance = 0.0;  ///< that an element is dropped, below 1
  int64_t first_feature = 0;
  int64_t features = 0;
};

/// [T, features] bytes on the device of the keys: 0 where an element is dropped, else 1.
at::Tensor dropout_mask(const DropoutDraw& draw);

/// A frozen or trainable linear layer with a low-rank update, as one operation:
/// x W^T + b + scale * dropout(x) A^T B^T. A and B may be float32 beside a 16-bit x (peft's default); the update is
/// then accumulated in float32 and rounded once. Backward draws the mask of dropout once more: it is not kept. `again`,
/// `output` and `frozen` as in linear().
struct LoraTensors {
  at::Tensor a_rI;
  at::Tensor b_Or;
  double scale = 1.0;
  double dropout = 0.0;                ///< of the layer, whether it drops now or not
  std::optional<DropoutDraw> drops{};  ///< of x: what is kept is divided by 1 - chance; without it nothing is dropped
};
at::Tensor lora_linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O,
                       const LoraTensors& lora, const RecomputePtr& again = {}, Output output = Output::kComputed,
                       const FrozenWeightPtr& frozen = {});

/// Sum over the supervised tokens of the cross-entropy of softmax(h W^T / logits_divisor), a float32 scalar (0 when
/// there is none). Works in chunks of tokens and makes the gradients in the forward pass, so the [S, V] logits never
/// exist as a whole (Hsu et al. 2024, "Liger Kernel"). `frozen` as in linear().
///
/// `loss_gradient` is the gradient that backward will bring (loss scale / tokens, not 0): gradients of 16 bits are made
/// for it, so that they overflow and vanish with it and not before. Backward may bring another one; it then rounds
/// twice.
///
/// `label_smoothing`: so much of each target's probability is spread over the whole vocabulary (Szegedy et al. 2016,
/// "Rethinking the Inception Architecture for Computer Vision"), as transformers' LabelSmoother does.
at::Tensor linear_cross_entropy_sum(const at::Tensor& hidden_TH, const at::Tensor& weight_VH,
                                    const at::Tensor& positions_S, const at::Tensor& targets_S,
                                    double logits_divisor = 1.0, const FrozenWeightPtr& frozen = {},
                                    double loss_gradient = 1.0, double label_smoothing = 0.0);

/// The most bytes of tensors that linear_cross_entropy_sum() holds beside its inputs, its results for backward
/// included, for `supervised` tokens and a head that is trained or not as `weight_VH` requires grad or not.
int64_t linear_cross_entropy_bytes(int64_t supervised, const at::Tensor& weight_VH);

}  // namespace assay::engine
