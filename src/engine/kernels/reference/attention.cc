#include <vector>

#include "engine/kernels/reference/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::reference {
namespace {

/// True where a query of a row of `length` tokens may look; undefined when plain causal order says it all.
at::Tensor window_mask(int64_t length, int64_t window, const at::Tensor& like) {
  if (window <= 0 || window >= length) {
    return {};
  }
  const at::Tensor ones = at::ones({length, length}, like.options().dtype(at::kBool));
  return ones.tril().logical_and_(ones.triu(1 - window));
}

/// One row: q is [N, L, D], k and v are [K, L, D]; plain libtorch operations, differentiable by themselves.
at::Tensor attend_row(const at::Tensor& q_NLD, const at::Tensor& k_KLD, const at::Tensor& v_KLD,
                      const AttentionOptions& options) {
  const at::Tensor mask_LL = window_mask(q_NLD.size(1), options.sliding_window, q_NLD);
  const bool grouped = options.query_heads != options.key_value_heads;
  const auto mask = mask_LL.defined() ? std::optional<at::Tensor>(mask_LL) : std::nullopt;
  return at::scaled_dot_product_attention(q_NLD.unsqueeze(0), k_KLD.unsqueeze(0), v_KLD.unsqueeze(0), mask, 0.0,
                                          /*is_causal=*/options.causal && !mask.has_value(), options.scale, grouped)
      .squeeze(0);
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
    const at::Tensor out_NLD = attend_row(heads_first(q), heads_first(k), heads_first(v), options);
    rows.push_back(out_NLD.transpose(0, 1).reshape({length, options.query_heads * options.head_dim}));
  }
  return at::cat(rows, 0);
}

}  // namespace assay::engine::reference
