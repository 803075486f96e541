// Attention of a row that grows: what a text's next tokens see of those before them.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/ops.h"

namespace assay::engine {

/// Of a row's tokens so far, [L, K, D] each; undefined before the first. Keys are rotated.
struct AttentionCache {
  at::Tensor keys_LKD;
  at::Tensor values_LKD;
};

/// attention() of tokens that follow those in `cache`, and take their place behind them: of a row's first tokens any
/// number, later one at a time. The batch has that row alone, its positions go on, and longest_row counts the tokens in
/// the cache too. Of a sliding window the cache keeps what the next token sees. Neither gradients nor dropout.
at::Tensor cached_attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                            const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                            AttentionCache& cache);

}  // namespace assay::engine
