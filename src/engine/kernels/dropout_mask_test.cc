// Dropout masks on every instruction set, and by the bodies of the CUDA kernels, against libtorch's own Philox.
#include "engine/kernels/op_table.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::for_each_isa;

at::Tensor keys(int64_t tokens) {
  at::manual_seed(5);
  return at::randint(INT64_MIN / 2, INT64_MAX / 2, {tokens}, at::kLong) * 2 + 1;
}

constexpr uint64_t kStream = 0x9d2c5680fedcba98U;

TEST(DropoutMask, HasTheNumbersOfPhilox) {
  for (const int64_t features : {1, 4, 7, 64, 65, 200, 576}) {
    for (const int64_t first : {0, 4, 5, 63, 288}) {
      for (const double chance : {0.05, 0.5, 0.9}) {
        const DropoutDraw draw{keys(9), kStream, chance, first, features};
        const at::Tensor expected = reference::dropout_mask(draw);
        for_each_isa([&] { EXPECT_TRUE(dropout_mask(draw).equal(expected)) << features << " from " << first; });
      }
    }
  }
}

TEST(DropoutMask, OfAPartIsThatPartOfTheWhole) {
  const at::Tensor whole = dropout_mask({keys(5), kStream, 0.3, 0, 90});
  EXPECT_TRUE(dropout_mask({keys(5), kStream, 0.3, 45, 45}).equal(whole.narrow(1, 45, 45)));
  EXPECT_TRUE(dropout_mask({keys(5).narrow(0, 2, 2), kStream, 0.3, 0, 90}).equal(whole.narrow(0, 2, 2)));
}

TEST(DropoutMask, KeepsItsShareAndDiffersBetweenStreamsAndTokens) {
  const at::Tensor mask = dropout_mask({keys(400), kStream, 0.25, 0, 256});
  EXPECT_NEAR(mask.to(at::kDouble).mean().item<double>(), 0.75, 0.005);
  // Of independent masks as many elements agree as chance lets.
  const double agreeing = 0.75 * 0.75 + 0.25 * 0.25;
  const at::Tensor other = dropout_mask({keys(400), kStream + 1, 0.25, 0, 256});
  EXPECT_NEAR(mask.eq(other).to(at::kDouble).mean().item<double>(), agreeing, 0.01);
  const at::Tensor next = mask.roll(1, 0);
  EXPECT_NEAR(mask.eq(next).to(at::kDouble).mean().item<double>(), agreeing, 0.01);
}

TEST(DropoutMask, NothingIsKeptBeyondItsChance) {
  EXPECT_TRUE(dropout_mask({keys(3), kStream, 0.0, 0, 50}).all().item<bool>());
  EXPECT_LT(dropout_mask({keys(300), kStream, 1.0 - 1e-9, 0, 50}).sum().item<int64_t>(), 2);
}

TEST(DropoutMask, WantsKeys) {
  EXPECT_THROW(dropout_mask({{}, kStream, 0.5, 0, 4}), c10::Error);
}

TEST(DropoutMask, OfAttentionDropsProbabilities) {
  PackedBatch batch = testing::make_batch({6, 9});
  batch.draw_keys_T = keys(batch.tokens());
  const AttentionOptions options{
      .query_heads = 4, .key_value_heads = 2, .head_dim = 8, .scale = 0.3, .dropout = 0.5, .dropout_stream = kStream};
  const at::Tensor q = at::randn({batch.tokens(), 32});
  const at::Tensor k = at::randn({batch.tokens(), 16});
  const at::Tensor v = at::randn({batch.tokens(), 16});
  const at::Tensor got = attention(q, k, v, batch, nullptr, options);
  for (int64_t head = 0; head < options.query_heads; ++head) {
    const at::Tensor q_LD = q.narrow(0, 6, 9).narrow(1, 8 * head, 8);
    const auto of_group = [&](const at::Tensor& x) { return x.narrow(0, 6, 9).narrow(1, 8 * (head / 2), 8); };
    const at::Tensor scores = q_LD.mm(of_group(k).t()) * options.scale;
    const at::Tensor later = at::ones({9, 9}, at::kBool).triu(1);
    const at::Tensor mask =
        dropout_mask({batch.draw_keys_T.narrow(0, 6, 9), kStream + static_cast<uint64_t>(head), options.dropout, 0, 9});
    const at::Tensor kept = scores.masked_fill(later, -INFINITY).softmax(-1) * mask / (1 - options.dropout);
    EXPECT_TRUE(got.narrow(0, 6, 9).narrow(1, 8 * head, 8).allclose(kept.mm(of_group(v)), 1e-5, 1e-6)) << head;
  }
}

}  // namespace
}  // namespace assay::engine
