// Positions as biases of attention's scores (Press et al. 2022, "Train Short, Test Long: Attention with Linear Biases
// Enables Input Length Extrapolation"): a key's place in its row, times a slope of the head.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace assay::engine {

/// Of `heads` heads: powers of 2^(-8 / n), where n is the largest power of two that is no more than these, and for the
/// heads beyond the odd powers of its root.
std::vector<double> alibi_slopes(int64_t heads);

/// Features that add_alibi() gives each head beside its own: the kernels of some devices want a multiple of so many.
inline constexpr int64_t kAlibiFeatures = 8;

/// Queries, keys and values whose heads have features beside their own, so that the scaled product of a query and a key
/// is what it was and the bias: the place of a key in two parts, each exact in 16 bits, and the slopes over the scale.
struct BiasedHeads {
  at::Tensor q_TNE;
  at::Tensor k_TNE;
  at::Tensor v_TNE;  ///< zeros beside
};

/// `q_TND` and the others are [T, N * D], `positions_T` places in rows, `slopes` of these N heads. Differentiable.
BiasedHeads add_alibi(const at::Tensor& q_TND, const at::Tensor& k_TND, const at::Tensor& v_TND,
                      const at::Tensor& positions_T, const std::vector<double>& slopes, double scale);

/// What attention gave for such heads without the features beside: [T, N * D].
at::Tensor without_alibi(const at::Tensor& heads_TNE, int64_t heads);

}  // namespace assay::engine
