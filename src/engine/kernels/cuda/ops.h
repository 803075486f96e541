// CUDA's row of op_table.h: what it has of reference/ops.h. float32, bfloat16 and float16; work is queued on libtorch's
// current stream. Private to engine/kernels.
#pragma once

#include <array>

#include "engine/kernels/op_table.h"

namespace assay::engine::cuda {

RmsNormOutputs rms_norm_forward(const RmsNormInputs& in);
RmsNormGradients rms_norm_backward(const RmsNormSaved& saved);
LayerNormOutputs layer_norm_forward(const LayerNormInputs& in);
LayerNormGradients layer_norm_backward(const LayerNormSaved& saved);
at::Tensor gelu_forward(const at::Tensor& x, bool tanh_form);
at::Tensor gelu_backward(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form);
at::Tensor swiglu_forward(const at::Tensor& gate_TI, const at::Tensor& up_TI);
SwigluGradients swiglu_backward(const at::Tensor& grad_TI, const at::Tensor& gate_TI, const at::Tensor& up_TI);
at::Tensor add_scaled(const at::Tensor& a, const at::Tensor& b, double multiplier);
/// libtorch's own sums of more than 3,072 tokens are not the same on every run.
at::Tensor embedding_backward(const at::Tensor& grad_TH, const at::Tensor& ids_T, int64_t rows, double multiplier);
at::Tensor cross_entropy(at::Tensor& logits_CV, const at::Tensor& targets_C, double divisor, double gradient,
                         double smoothing);
/// The reference's but for bfloat16.
at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale);
/// To 16 bits of the update, which is then rounded to the 8 of y.
void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y);
at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale);
at::Tensor dropout_mask(const DropoutDraw& draw);
/// libtorch's flash attention over all rows at once, for 16-bit dtypes; the reference's where it has none. Keeps the
/// rotated q and k, v, the output and one float32 per token and head for backward, which sums in the same order on
/// every run. Needs no kernels of ours.
at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* kept);
/// D is even.
at::Tensor rotate(const at::Tensor& x_TND, const RotaryTable& rotary, const at::Tensor& positions_T, bool inverse);
at::Tensor dequantize(const QuantizedTensors& tensors, at::ScalarType dtype);
void adamw(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule);
void sgd(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay, const GradientRule& rule);
at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients);

/// The pieces of float32 values as bfloat16 (see Split): side by side, [rows, 3 * columns], or else one below the
/// other, [3 * rows, columns].
at::Tensor split(const at::Tensor& values, std::array<int, 3> pieces, bool side_by_side);
/// y += scale * update where the mask (undefined: everywhere) is not 0.
void add_masked(const at::Tensor& y, const at::Tensor& update, const at::Tensor& mask, double scale);

/// By our kernels; defined where they are compiled.
extern const Operations kOperations;

}  // namespace assay::engine::cuda
