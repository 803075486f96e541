// The two ways to compute attention(): see ops.h for the contract. Private to engine/kernels.
#pragma once

#include "engine/kernels/ops.h"

namespace assay::engine {

/// Out of libtorch's operations, row by row; any device and dtype. The reference of the tests.
at::Tensor attention_composed(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                              const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options);

/// Our blocked kernels: float32, bfloat16 and float16 on the CPU. Keeps q, k, v, the output and one float32 per token
/// and head for backward.
at::Tensor attention_blocked(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                             const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options);

}  // namespace assay::engine
