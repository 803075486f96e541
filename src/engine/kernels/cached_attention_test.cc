// A row that grows token by token against the same row at once.
#include <cmath>

#include "engine/kernels/attention_cache.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

constexpr int64_t kTokens = 1500;
constexpr int64_t kHeads = 2;
constexpr int64_t kHeadDim = 64;
constexpr AttentionOptions kOptions = {
    .query_heads = kHeads, .key_value_heads = kHeads, .head_dim = kHeadDim, .scale = 0.125};

/// Queries and keys of which two features carry alibi's part of a score, half a position: each number fits 16 bits.
testing::Tensors inputs_with_alibi(at::ScalarType dtype) {
  at::manual_seed(5);
  testing::Tensors inputs;
  for (int i = 0; i < 3; ++i) {
    inputs.push_back(at::randn({kTokens, kHeads, kHeadDim}, at::kFloat));
  }
  const at::Tensor place_T1 = at::arange(kTokens, at::kFloat).unsqueeze(1);
  const at::Tensor within_T1 = at::remainder(place_T1, 128);
  inputs[0].narrow(2, 0, 2).fill_(1);
  inputs[1].select(2, 0).copy_((place_T1 - within_T1) * 4);
  inputs[1].select(2, 1).copy_(within_T1 * 4);
  for (at::Tensor& input : inputs) {
    input = input.view({kTokens, kHeads * kHeadDim}).to(dtype);
  }
  return inputs;
}

TEST(CachedAttention, AlibiLeavesRoomForTheOtherPartOfAScoreIn16Bits) {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf}) {
    const testing::Tensors in = inputs_with_alibi(dtype);
    const PackedBatch whole = testing::make_batch({kTokens});
    const at::Tensor want = attention(in[0], in[1], in[2], whole, nullptr, kOptions)[kTokens - 1];
    AttentionCache cache;
    const auto follow = [&](int64_t begin, int64_t tokens, const PackedBatch& batch) {
      return cached_attention(in[0].narrow(0, begin, tokens), in[1].narrow(0, begin, tokens),
                              in[2].narrow(0, begin, tokens), batch, nullptr, kOptions, cache);
    };
    follow(0, kTokens - 1, testing::make_batch({kTokens - 1}));
    const at::Tensor got = follow(kTokens - 1, 1, testing::make_batch({1}))[0];
    EXPECT_LT((got - want).abs().max().item<double>(), 0.03) << dtype;
  }
}

}  // namespace
}  // namespace assay::engine
