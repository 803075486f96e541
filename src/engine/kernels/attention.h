// The ways to compute attention(): see ops.h for the contract. Private to engine/kernels.
#pragma once

#include "engine/kernels/ops.h"

namespace assay::engine {

/// Out of libtorch's operations, row by row; any device and dtype. The reference of the tests.
at::Tensor attention_composed(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                              const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options);

/// Our blocked kernels: float32, bfloat16 and float16 on the CPU. Keeps q, k, v, the output and one float32 per token
/// and head for backward.
at::Tensor attention_blocked(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                             const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                             KeptAttention* kept = nullptr);

/// On a GPU, over all rows at once, with libtorch's flash attention: 16-bit dtypes, where has_flash_attention(). Keeps
/// the rotated q and k, v, the output and one float32 per token and head for backward, which sums in the same order on
/// every run.
at::Tensor attention_flash(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                           const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options);
bool has_flash_attention(const at::Tensor& q_TND, const PackedBatch& batch, const AttentionOptions& options);

/// x cos + rotate_half(x) sin out of libtorch's operations, in the dtype of x as transformers does it; x is
/// [T, heads, D].
at::Tensor rotate_composed(const at::Tensor& x_TND, const RotaryTable& rotary, const at::Tensor& positions_T);

}  // namespace assay::engine
