// DoRA: a low-rank update of a weight's directions, with their lengths trained apart (Liu et al. 2024, "DoRA:
// Weight-Decomposed Low-Rank Adaptation").
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "engine/kernels/ops.h"

namespace assay::engine {

/// What DoRA adds to a LoRA of a frozen weight. An output's direction is its row of W + scale * B A.
struct DoraTensors {
  at::Tensor magnitude_O;    ///< float32: its length, which is trained
  at::Tensor row_squares_O;  ///< float32: the squares of the lengths of the rows of W
};

/// The squares of the lengths of a weight's rows, float32.
at::Tensor row_squares(const at::Tensor& weight_OI);

/// x V^T + b, with V the rows of W + scale * B A at the lengths of `dora`. As peft has it, the lengths that these rows
/// have by themselves count as constant, and dropout is on what the change from W reads: with V = W + (V - W),
/// x W^T + b + dropout(x) (V - W)^T. Arguments as of lora_linear(), without an output that may stay unset.
at::Tensor dora_linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O,
                       const LoraTensors& lora, const DoraTensors& dora, const RecomputePtr& again = {},
                       const FrozenWeightPtr& frozen = {});

}  // namespace assay::engine
