// The CPU's row of op_table.h: what it has of reference/ops.h. float32, bfloat16 and float16 on the loops of
// cpu_kernels.h; results do not depend on the number of threads. Private to engine/kernels.
#pragma once

#include "engine/kernels/op_table.h"

namespace assay::engine::cpu {

RmsNormOutputs rms_norm_forward(const RmsNormInputs& in);
RmsNormGradients rms_norm_backward(const RmsNormSaved& saved);
LayerNormOutputs layer_norm_forward(const LayerNormInputs& in);
LayerNormGradients layer_norm_backward(const LayerNormSaved& saved);
at::Tensor gelu_forward(const at::Tensor& x, bool tanh_form);
at::Tensor gelu_backward(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form);
at::Tensor swiglu_forward(const at::Tensor& gate_TI, const at::Tensor& up_TI);
SwigluGradients swiglu_backward(const at::Tensor& grad_TI, const at::Tensor& gate_TI, const at::Tensor& up_TI);
at::Tensor add_scaled(const at::Tensor& a, const at::Tensor& b, double multiplier);
at::Tensor embedding_forward(const at::Tensor& ids_T, const at::Tensor& weight_VH, double multiplier);
at::Tensor embedding_backward(const at::Tensor& grad_TH, const at::Tensor& ids_T, int64_t rows, double multiplier);
at::Tensor cross_entropy(at::Tensor& logits_CV, const at::Tensor& targets_C, double divisor, double gradient,
                         double smoothing);
/// Through float32 where libtorch has no fast product: products_through_float32().
at::Tensor product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias);
void add_product(const at::Tensor& sum, const at::Tensor& left, const at::Tensor& right);
at::Tensor column_sums(const at::Tensor& y_MO, at::ScalarType dtype);
at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale);
void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y);
at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale);
at::Tensor dropout_mask(const DropoutDraw& draw);
/// In blocks. Keeps q, k, v, the output and one float32 per token and head for backward.
at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* kept);
at::Tensor dequantize(const QuantizedTensors& tensors, at::ScalarType dtype);
void adamw(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule);
void sgd(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay, const GradientRule& rule);
at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients);

inline constexpr Operations kOperations{.name = "cpu",
                                        .rms_norm_forward = rms_norm_forward,
                                        .rms_norm_backward = rms_norm_backward,
                                        .layer_norm_forward = layer_norm_forward,
                                        .layer_norm_backward = layer_norm_backward,
                                        .gelu_forward = gelu_forward,
                                        .gelu_backward = gelu_backward,
                                        .swiglu_forward = swiglu_forward,
                                        .swiglu_backward = swiglu_backward,
                                        .add_scaled = add_scaled,
                                        .embedding_forward = embedding_forward,
                                        .embedding_backward = embedding_backward,
                                        .cross_entropy = cross_entropy,
                                        .product = product,
                                        .add_product = add_product,
                                        .column_sums = column_sums,
                                        .project_down = project_down,
                                        .project_up = project_up,
                                        .outer_sum = outer_sum,
                                        .dropout_mask = dropout_mask,
                                        .attention = attention,
                                        .dequantize = dequantize,
                                        .adamw = adamw,
                                        .sgd = sgd,
                                        .gradient_stats = gradient_stats};

}  // namespace assay::engine::cpu
