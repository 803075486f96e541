#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/softmax.h>
#include <c10/util/Exception.h>

#include "engine/kernels/attention_cache.h"
#include "engine/kernels/op_table.h"

namespace assay::engine {
namespace {

at::Tensor rotated(const at::Tensor& x_TND, const PackedBatch& batch, const RotaryTable* rotary) {
  return rotary == nullptr ? x_TND : operations(x_TND).rotate(x_TND, *rotary, batch.positions_T, /*inverse=*/false);
}

/// `all_LKD` with x behind it, as far as a window goes back.
void append(at::Tensor& all_LKD, const at::Tensor& x_TKD, int64_t window) {
  all_LKD = all_LKD.defined() ? at::cat({all_LKD, x_TKD}) : x_TKD;
  if (window > 0 && all_LKD.size(0) > window) {
    all_LKD = all_LKD.narrow(0, all_LKD.size(0) - window, window);
  }
}

/// Of one token, which sees all that is kept. Scores are float32 from the beginning, as in attention(): alibi's part of
/// them grows with the position, and has no room in 16 bits beside the other.
at::Tensor attend_to_all(const at::Tensor& q_1ND, const AttentionCache& cache, const AttentionOptions& options) {
  const int64_t key_heads = options.key_value_heads;
  const at::Tensor q_KGD = q_1ND.view({key_heads, options.query_heads / key_heads, options.head_dim}).to(at::kFloat);
  const at::Tensor scores_KGL = at::bmm(q_KGD * options.scale, cache.keys_LKD.permute({1, 2, 0}).to(at::kFloat));
  const at::Tensor shares_KGL = at::softmax(scores_KGL, -1).to(q_1ND.scalar_type());
  return at::bmm(shares_KGL, cache.values_LKD.transpose(0, 1)).view({1, -1});
}

}  // namespace

at::Tensor cached_attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                            const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                            AttentionCache& cache) {
  const int64_t tokens = q_TND.size(0);
  const bool begins = !cache.keys_LKD.defined();
  TORCH_CHECK(batch.rows() == 1 && (begins || tokens == 1), "one token of one row follows those of a cache, not ",
              tokens, " of ", batch.rows());
  const auto by_head = [&](const at::Tensor& x, int64_t heads) { return x.view({tokens, heads, options.head_dim}); };
  append(cache.keys_LKD, rotated(by_head(k_TKD, options.key_value_heads), batch, rotary), options.sliding_window);
  append(cache.values_LKD, by_head(v_TKD, options.key_value_heads), options.sliding_window);
  if (begins) {
    return attention(q_TND, k_TKD, v_TKD, batch, rotary, options);
  }
  return attend_to_all(rotated(by_head(q_TND, options.query_heads), batch, rotary), cache, options);
}

}  // namespace assay::engine
