// Which rows go to which expert: the tokens of a batch, each as often as it has experts, sorted by these.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace assay::engine {

/// Of T tokens with k experts each, the S rows of some consecutive experts.
struct Routing {
  at::Tensor choices_E;          ///< int64: how many tokens chose each expert, of all experts
  at::Tensor weights_S;          ///< float32; differentiable
  at::Tensor slots_S;            ///< a row's place among the T * k choices: token * k + which of its experts
  std::vector<int64_t> offsets;  ///< where the rows of each of these experts begin, and S
  int64_t tokens = 0;
  int64_t per_token = 0;
};

/// The `per_token` experts with the largest logits, weighted by the softmax over these, for the `own` experts from
/// `first` on. Without storage (a step on shapes) these have the most rows that they may have: where they are all
/// experts so many as always, else those of tokens that choose nobody else.
Routing route(const at::Tensor& logits_TE, int64_t per_token, int64_t first, int64_t own);

/// The token of each row. Differentiable; backward is tokens_of_rows().
at::Tensor rows_of_tokens(const at::Tensor& x_TH, const Routing& routing);
/// The sum of each token's rows. Differentiable; backward is rows_of_tokens().
at::Tensor tokens_of_rows(const at::Tensor& y_SH, const Routing& routing);

}  // namespace assay::engine
