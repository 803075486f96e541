// What a Mamba-2 layer does along a row of tokens (Dao and Gu 2024, "Transformers are SSMs"): a short causal
// convolution of each channel, and the scan of a state space whose steps its input chooses. Rows are apart from each
// other.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace assay::engine {

/// silu of the causal convolution of each channel, y_t = bias + sum over k of weight_k x_(t - K + 1 + k), where what
/// lies before a row is zero. `bias_C` undefined: none. In float32 within; differentiable.
at::Tensor causal_conv_silu(const at::Tensor& x_TC, const at::Tensor& weight_CK, const at::Tensor& bias_C,
                            const std::vector<int64_t>& row_offsets);

/// N heads of P features in G groups of heads, whose states hold S numbers for each feature.
struct StateSpace {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t groups = 1;
  int64_t state = 0;
  double shortest_step = 0.0;  ///< limits of a step in time
  double longest_step = std::numeric_limits<double>::infinity();
};

/// What one number of each head decides.
struct StateSpaceParameters {
  at::Tensor step_bias_N;  ///< is added to a step before its softplus
  at::Tensor decay_log_N;  ///< log of how fast the state decays
  at::Tensor skip_N;       ///< what of the input goes past the state
};

/// Tokens of a chunk of a row: work within one grows with its square, between chunks with their number.
inline constexpr int64_t kScanChunk = 64;

/// y [T, N P] of `xbc_TC`, which holds a token's x [N P], B [G S] and C [G S] one after the other: with the step
/// d = softplus(step + bias) and the state h = exp(-exp(decay) d) h_before + d B x, y = C h + skip x. Computed in
/// chunks of a row, within which it is a product of matrices ("state-space duality"), in float32; backward computes
/// each chunk again and keeps nothing but the arguments. Differentiable.
at::Tensor selective_scan(const at::Tensor& xbc_TC, const at::Tensor& step_TN, const StateSpaceParameters& parameters,
                          const StateSpace& space, const std::vector<int64_t>& row_offsets);

/// The same of tokens that go on with a row whose state is `state_NPS`, float32 (undefined: they begin it), which
/// becomes the state after them. Without gradients.
at::Tensor scan_on(const at::Tensor& xbc_TC, const at::Tensor& step_TN, const StateSpaceParameters& parameters,
                   const StateSpace& space, at::Tensor& state_NPS);

}  // namespace assay::engine
