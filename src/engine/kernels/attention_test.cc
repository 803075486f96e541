// Blocked attention against the composition of libtorch operations in float64.
#include "engine/kernels/attention.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "engine/kernels/ops.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::expect_matches;
using testing::kPrecisions;
using testing::make_batch;
using testing::Tensors;

struct Case {
  std::vector<int64_t> lengths;
  int64_t heads;
  int64_t groups;
  int64_t head_dim;
  int64_t window = 0;
  bool rotated = true;
};

const std::vector<Case> kCases = {
    {{1}, 1, 1, 8},    {{1, 1, 5}, 4, 2, 16},     {{63, 64, 65}, 3, 3, 32}, {{200, 1, 77}, 6, 2, 64},
    {{130}, 4, 1, 40}, {{150, 20}, 4, 2, 24, 16}, {{700}, 2, 1, 16, 100},   {{600, 3}, 2, 2, 80, 0, false},
};

RotaryTable make_rotary(int64_t positions, int64_t head_dim) {
  const at::Tensor frequency = at::pow(10000.0, -at::arange(head_dim / 2, at::kDouble) * 2 / head_dim);
  const at::Tensor angle = at::outer(at::arange(positions, at::kDouble), frequency);
  return {angle.cos().to(at::kFloat), angle.sin().to(at::kFloat)};
}

AttentionOptions options_of(const Case& c) {
  return {.query_heads = c.heads,
          .key_value_heads = c.groups,
          .head_dim = c.head_dim,
          .scale = 1.0 / std::sqrt(static_cast<double>(c.head_dim)),
          .sliding_window = c.window};
}

Tensors random_inputs(const Case& c, int64_t tokens) {
  at::manual_seed(5);
  return {at::randn({tokens, c.heads * c.head_dim}, at::kDouble),
          at::randn({tokens, c.groups * c.head_dim}, at::kDouble),
          at::randn({tokens, c.groups * c.head_dim}, at::kDouble)};
}

TEST(Attention, MatchesLibtorch) {
  for (const Case& c : kCases) {
    const PackedBatch batch = make_batch(c.lengths);
    const RotaryTable rotary = make_rotary(batch.longest_row, c.head_dim);
    const RotaryTable wide = {rotary.cos_PD2.to(at::kDouble), rotary.sin_PD2.to(at::kDouble)};
    for (const auto& precision : kPrecisions) {
      expect_matches(
          [&](const Tensors& in) -> Tensors {
            return {attention(in[0], in[1], in[2], batch, c.rotated ? &rotary : nullptr, options_of(c))};
          },
          [&](const Tensors& in) -> Tensors {
            return {attention_composed(in[0], in[1], in[2], batch, c.rotated ? &wide : nullptr, options_of(c))};
          },
          random_inputs(c, batch.tokens()), {true, true, true}, precision,
          "attention, first row " + std::to_string(c.lengths[0]));
    }
  }
}

TEST(Attention, RowsDoNotSeeEachOther) {
  const Case c{{40, 70}, 2, 1, 32};
  const PackedBatch both = make_batch(c.lengths);
  const PackedBatch second = make_batch({70});
  const RotaryTable rotary = make_rotary(70, c.head_dim);
  Tensors in = random_inputs(c, both.tokens());
  for (at::Tensor& x : in) {
    x = x.to(at::kFloat);
  }
  const auto tail = [](const at::Tensor& x) { return x.narrow(0, 40, 70).contiguous(); };
  const at::Tensor packed = attention(in[0], in[1], in[2], both, &rotary, options_of(c));
  const at::Tensor alone = attention(tail(in[0]), tail(in[1]), tail(in[2]), second, &rotary, options_of(c));
  EXPECT_TRUE(tail(packed).equal(alone));
}

TEST(Attention, RepeatsBitForBitWithAnyNumberOfThreads) {
  const Case c{{200, 130, 90, 33}, 6, 2, 64};
  const PackedBatch batch = make_batch(c.lengths);
  const RotaryTable rotary = make_rotary(batch.longest_row, c.head_dim);
  const auto once = [&] {
    return testing::run(
        [&](const Tensors& in) -> Tensors { return {attention(in[0], in[1], in[2], batch, &rotary, options_of(c))}; },
        random_inputs(c, batch.tokens()), {true, true, true}, at::kBFloat16);
  };
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const Tensors one = once();
  at::set_num_threads(2);
  const Tensors two = once();
  const Tensors again = once();
  at::set_num_threads(threads);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(one[i].equal(two[i]));
    EXPECT_TRUE(again[i].equal(two[i]));
  }
}

TEST(Attention, ASecondCallTakesWhatTheFirstKept) {
  const Case c{{70, 9}, 4, 2, 32};
  const PackedBatch batch = make_batch(c.lengths);
  const RotaryTable rotary = make_rotary(batch.longest_row, c.head_dim);
  const auto outputs = [&](KeptAttention* kept) {
    return testing::run(
        [&](const Tensors& in) -> Tensors {
          return {attention(in[0], in[1], in[2], batch, &rotary, options_of(c), kept)};
        },
        random_inputs(c, batch.tokens()), {true, true, true}, at::kBFloat16);
  };
  const Tensors want = outputs(nullptr);
  KeptAttention kept;
  {
    const at::NoGradGuard no_grad;
    Tensors in = random_inputs(c, batch.tokens());
    for (at::Tensor& x : in) {
      x = x.to(at::kBFloat16);
    }
    EXPECT_TRUE(attention(in[0], in[1], in[2], batch, &rotary, options_of(c), &kept).equal(want[0]));
  }
  ASSERT_TRUE(kept.out_TND.defined());
  kept.out_TND[0][0] = 77.0;  // so that a result computed again would show
  const Tensors got = outputs(&kept);
  EXPECT_FALSE(kept.out_TND.defined());
  EXPECT_EQ(got[0][0][0].item<double>(), 77.0);
  EXPECT_TRUE(got[0].narrow(0, 1, 78).equal(want[0].narrow(0, 1, 78)));
  EXPECT_TRUE(got[3].equal(want[3])) << "the gradient of the values needs the statistics alone";
}

TEST(Attention, RefusesARowLongerThanTheRotaryTable) {
  const Case c{{20}, 1, 1, 8};
  const PackedBatch batch = make_batch(c.lengths);
  const RotaryTable rotary = make_rotary(10, c.head_dim);
  const at::Tensor x = at::ones({20, 8});
  EXPECT_THROW(attention(x, x, x, batch, &rotary, options_of(c)), c10::Error);
}

}  // namespace
}  // namespace assay::engine
