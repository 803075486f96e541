// The reference row of op_table.h: every operation out of libtorch's own, on any device and in any floating dtype. The
// contracts here are those of each column; the other rows round as these do. Private to engine/kernels.
//
// None of it takes part in autograd but attention(), of which this row alone has dropout. Tensors are contiguous and on
// one device.
#pragma once

#include <vector>

#include "engine/kernels/low_rank.h"
#include "engine/kernels/op_arguments.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/optimizer_step.h"
#include "engine/kernels/quantized_tensors.h"

namespace assay::engine::reference {

/// The fast rows want x, block and weight of one dtype; here they may differ.
RmsNormOutputs rms_norm_forward(const RmsNormInputs& in);
RmsNormGradients rms_norm_backward(const RmsNormSaved& saved);

LayerNormOutputs layer_norm_forward(const LayerNormInputs& in);
LayerNormGradients layer_norm_backward(const LayerNormSaved& saved);

at::Tensor gelu_forward(const at::Tensor& x, bool tanh_form);
at::Tensor gelu_backward(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form);

at::Tensor swiglu_forward(const at::Tensor& gate_TI, const at::Tensor& up_TI);
SwigluGradients swiglu_backward(const at::Tensor& grad_TI, const at::Tensor& gate_TI, const at::Tensor& up_TI);

/// a + multiplier * b.
at::Tensor add_scaled(const at::Tensor& a, const at::Tensor& b, double multiplier);

/// Rows of the table at `ids_T`, times `multiplier`.
at::Tensor embedding_forward(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier);
/// The gradient of a table of `rows` rows; sums in the same order on every run.
at::Tensor embedding_backward(const at::Tensor& grad_TH, const at::Tensor& ids_T, int64_t rows, double multiplier);

/// The sum over the rows of the cross-entropy of softmax(logits / divisor), float32 at least, with targets that are
/// one_hot * (1 - smoothing) + smoothing / V. Unless `gradient` is 0, the logits become
/// (softmax - target) * gradient / divisor in their own dtype.
at::Tensor cross_entropy(at::Tensor& logits_CV, const at::Tensor& targets_C, double divisor, double gradient,
                         double smoothing);

/// left right, plus the row `bias` where defined; operands may be transposed views.
at::Tensor product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias);
/// sum += left right, rounded to the dtype of `sum` once.
void add_product(const at::Tensor& sum, const at::Tensor& left, const at::Tensor& right);
/// Column sums in float32, rounded to `dtype`.
at::Tensor column_sums(const at::Tensor& y_MO, at::ScalarType dtype);

/// As in low_rank.h. The fast rows want the thin side in float32.
at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale);
void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y);
at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale);

/// As in ops.h, by libtorch's own generator of these numbers, on the host.
at::Tensor dropout_mask(const DropoutDraw& draw);

/// As in engine/kernels/ops.h, differentiable: backward is each row's own.
at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* kept = nullptr);
/// x cos + rotate_half(x) sin in the dtype of x, as transformers does it, or back again; x is [T, heads, D].
at::Tensor rotate(const at::Tensor& x_TND, const RotaryTable& rotary, const at::Tensor& positions_T, bool inverse);

/// The weight in `dtype`: [I, O].
at::Tensor dequantize(const QuantizedTensors& tensors, at::ScalarType dtype);

/// As in optimizer_step.h and gradient_rule.h, of at least one tensor.
void adamw(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule);
void sgd(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay, const GradientRule& rule);
at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients);

}  // namespace assay::engine::reference
