// Attention with dropout of its probabilities, for configs that ask for it.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/ops.h"

namespace assay::engine {

/// attention() of ops.h with each probability dropped with chance `dropout` (0 < dropout < 1). Rows are attended one
/// after the other in plain libtorch operations that keep every probability, so it is slow and needs memory: training
/// of a model without attention_dropout never comes here. Draws from libtorch's default generator.
at::Tensor attention_with_dropout(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                                  const PackedBatch& batch, const RotaryTable& rotary, const AttentionOptions& options,
                                  double dropout);

}  // namespace assay::engine
