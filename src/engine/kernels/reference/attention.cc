#include <limits>
#include <vector>

#include "engine/kernels/reference/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::reference {
namespace {

/// True where a query of a row of `length` tokens may look in causal order; `window` 0: at all earlier ones.
at::Tensor seen_keys(int64_t length, int64_t window, const at::Tensor& like) {
  const at::Tensor ones = at::ones({length, length}, like.options().dtype(at::kBool));
  return window == 0 ? ones.tril() : ones.tril() * ones.triu(1 - window);
}

/// Of a row whose tokens have `keys_L`: [N, L, L], what is kept times 1 / (1 - dropout).
at::Tensor dropout_factors(const AttentionOptions& options, const at::Tensor& keys_L) {
  std::vector<at::Tensor> heads;
  for (int64_t head = 0; head < options.query_heads; ++head) {
    heads.push_back(engine::dropout_mask({.keys_T = keys_L,
                                          .stream = options.dropout_stream + static_cast<uint64_t>(head),
                                          .chance = options.dropout,
                                          .features = keys_L.size(0)}));
  }
  return at::stack(heads) / (1.0 - options.dropout);
}

/// One row: q is [N, L, D], k and v are [K, L, D]; plain libtorch operations, differentiable by themselves.
at::Tensor attend_row(const at::Tensor& q_NLD, const at::Tensor& k_KLD, const at::Tensor& v_KLD,
                      const AttentionOptions& options) {
  const int64_t length = q_NLD.size(1);
  const bool windowed = options.sliding_window > 0 && options.sliding_window < length;
  const bool grouped = options.query_heads != options.key_value_heads;
  const auto mask = windowed ? std::optional(seen_keys(length, options.sliding_window, q_NLD)) : std::nullopt;
  return at::scaled_dot_product_attention(q_NLD.unsqueeze(0), k_KLD.unsqueeze(0), v_KLD.unsqueeze(0), mask, 0.0,
                                          /*is_causal=*/options.causal && !windowed, options.scale, grouped)
      .squeeze(0);
}

/// The same with dropout, rounded as in transformers' eager attention; G query heads share a key/value head.
at::Tensor attend_row_with_dropout(const at::Tensor& q_NLD, const at::Tensor& k_KLD, const at::Tensor& v_KLD,
                                   const AttentionOptions& options, const at::Tensor& keys_L) {
  const at::Tensor q_KGLD = q_NLD.unflatten(0, {options.key_value_heads, -1});
  at::Tensor scores_KGLL = at::matmul(q_KGLD, k_KLD.unsqueeze(1).transpose(-2, -1)) * options.scale;
  if (options.causal) {
    const at::Tensor hidden_LL = seen_keys(q_NLD.size(1), options.sliding_window, q_NLD).eq(0);
    scores_KGLL = scores_KGLL.masked_fill(hidden_LL, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor probabilities_KGLL = at::softmax(scores_KGLL, -1, compute_dtype(q_NLD)).to(q_NLD.scalar_type());
  const at::Tensor factors_KGLL = dropout_factors(options, keys_L).view_as(probabilities_KGLL).to(q_NLD.scalar_type());
  return at::matmul(probabilities_KGLL * factors_KGLL, v_KLD.unsqueeze(1)).flatten(0, 1);
}

}  // namespace

at::Tensor rotate(const at::Tensor& x_TND, const RotaryTable& rotary, const at::Tensor& positions_T, bool inverse) {
  const auto of_tokens = [&](const at::Tensor& table_PD2) {
    return table_PD2.index_select(0, positions_T).to(x_TND.scalar_type()).repeat({1, 2}).unsqueeze(1);
  };
  const at::Tensor cos_T1D = of_tokens(rotary.cos_PD2);
  const at::Tensor sin_T1D = of_tokens(inverse ? rotary.sin_PD2.neg() : rotary.sin_PD2);
  const std::vector<at::Tensor> halves = x_TND.chunk(2, -1);
  return x_TND * cos_T1D + at::cat({-halves[1], halves[0]}, -1) * sin_T1D;
}

at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* /*kept*/) {
  const int64_t tokens = q_TND.size(0);
  at::Tensor q = q_TND.view({tokens, options.query_heads, options.head_dim});
  at::Tensor k = k_TKD.view({tokens, options.key_value_heads, options.head_dim});
  const at::Tensor v = v_TKD.view({tokens, options.key_value_heads, options.head_dim});
  if (rotary != nullptr) {
    q = rotate(q, *rotary, batch.positions_T, /*inverse=*/false);
    k = rotate(k, *rotary, batch.positions_T, /*inverse=*/false);
  }
  std::vector<at::Tensor> rows;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const int64_t begin = batch.row_offsets[row];
    const int64_t length = batch.row_offsets[row + 1] - begin;
    const auto heads_first = [&](const at::Tensor& x) { return x.narrow(0, begin, length).transpose(0, 1); };
    const at::Tensor out_NLD = options.dropout == 0.0
                                   ? attend_row(heads_first(q), heads_first(k), heads_first(v), options)
                                   : attend_row_with_dropout(heads_first(q), heads_first(k), heads_first(v), options,
                                                             batch.draw_keys_T.narrow(0, begin, length));
    rows.push_back(out_NLD.transpose(0, 1).reshape({length, options.query_heads * options.head_dim}));
  }
  return at::cat(rows, 0);
}

}  // namespace assay::engine::reference
