#include "engine/model/attention_dropout.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <optional>
#include <vector>

namespace assay::engine {
namespace {

/// x cos + rotate_half(x) sin; x is [T, heads, D].
at::Tensor rotate(const at::Tensor& x_TND, const at::Tensor& cos_T1D, const at::Tensor& sin_T1D) {
  const std::vector<at::Tensor> halves = x_TND.chunk(2, -1);
  return x_TND * cos_T1D + at::cat({-halves[1], halves[0]}, -1) * sin_T1D;
}

/// A column of the table at the batch's positions, for both halves of the head: [T, 1, D].
at::Tensor at_positions(const at::Tensor& table_PD2, const at::Tensor& positions_T, at::ScalarType dtype) {
  return table_PD2.index_select(0, positions_T).to(dtype).repeat({1, 2}).unsqueeze(1);
}

/// Which keys the queries of a row of `length` tokens see; none when causal order says it all.
std::optional<at::Tensor> window_mask(int64_t length, int64_t window, at::Device device) {
  if (window <= 0 || window >= length) {
    return std::nullopt;
  }
  const at::Tensor ones = at::ones({length, length}, at::TensorOptions().dtype(at::kBool).device(device));
  return ones.tril().logical_and(ones.triu(1 - window));
}

}  // namespace

at::Tensor attention_with_dropout(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                                  const PackedBatch& batch, const RotaryTable& rotary, const AttentionOptions& options,
                                  double dropout) {
  const int64_t tokens = batch.tokens();
  const at::Tensor cos_T1D = at_positions(rotary.cos_PD2, batch.positions_T, q_TND.scalar_type());
  const at::Tensor sin_T1D = at_positions(rotary.sin_PD2, batch.positions_T, q_TND.scalar_type());
  const at::Tensor q = rotate(q_TND.view({tokens, options.query_heads, options.head_dim}), cos_T1D, sin_T1D);
  const at::Tensor k = rotate(k_TKD.view({tokens, options.key_value_heads, options.head_dim}), cos_T1D, sin_T1D);
  const at::Tensor v = v_TKD.view({tokens, options.key_value_heads, options.head_dim});
  const bool grouped = options.query_heads != options.key_value_heads;
  std::vector<at::Tensor> rows;
  for (int64_t row = 0; row < batch.rows(); ++row) {
    const int64_t begin = batch.row_offsets[static_cast<size_t>(row)];
    const int64_t length = batch.row_offsets[static_cast<size_t>(row) + 1] - begin;
    const auto heads_first = [&](const at::Tensor& x) {
      return x.narrow(0, begin, length).transpose(0, 1).unsqueeze(0);
    };
    const std::optional<at::Tensor> mask = window_mask(length, options.sliding_window, q.device());
    const at::Tensor out_1NLD =
        at::scaled_dot_product_attention(heads_first(q), heads_first(k), heads_first(v), mask, dropout,
                                         /*is_causal=*/!mask.has_value(), options.scale, grouped);
    rows.push_back(out_1NLD.squeeze(0).transpose(0, 1).reshape({length, options.query_heads * options.head_dim}));
  }
  return at::cat(rows, 0);
}

}  // namespace assay::engine
