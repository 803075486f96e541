// Blocked attention against the composition of libtorch operations in float64.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>

#include "engine/kernels/op_table.h"
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

/// The last two have rows and key heads enough for tasks of several query heads each, in rows of several blocks.
const std::vector<Case> kCases = {
    {{1}, 1, 1, 8},
    {{1, 1, 5}, 4, 2, 16},
    {{63, 64, 65}, 3, 3, 32},
    {{200, 1, 77}, 6, 2, 64},
    {{130}, 4, 1, 40},
    {{150, 20}, 4, 2, 24, 16},
    {{700}, 2, 1, 16, 100},
    {{600, 3}, 2, 2, 80, 0, false},
    {{130, 65, 200}, 9, 3, 64},
    {{70, 300, 66, 129}, 4, 2, 32, 90},
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
            return {reference::attention(in[0], in[1], in[2], batch, c.rotated ? &wide : nullptr, options_of(c))};
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
  for (const int several : {2, 2, 5, 16}) {
    at::set_num_threads(several);
    const Tensors got = once();
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(one[i].equal(got[i])) << several << " threads, result " << i;
    }
  }
  at::set_num_threads(threads);
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

/// Each query attends to the keys that it sees, and to nothing else, by libtorch alone: what is not finite spreads as
/// far as the mathematics says. libtorch's own causal kernels spread it further, to keys that are masked.
at::Tensor attend_to_seen_keys(const Tensors& in, const PackedBatch& batch, const Case& c) {
  const int64_t per_group = c.heads / c.groups;
  Tensors rows;
  for (int64_t token = 0; token < batch.tokens(); ++token) {
    const int64_t begin = token - batch.positions_T[token].item<int64_t>();
    const auto seen = [&](const at::Tensor& x) {
      return x.narrow(0, begin, token - begin + 1).view({-1, c.groups, 1, c.head_dim});
    };
    const at::Tensor q_KGD = in[0][token].view({c.groups, per_group, c.head_dim});
    const at::Tensor scores_SKG = (seen(in[1]) * q_KGD).sum(-1) * options_of(c).scale;
    rows.push_back((at::softmax(scores_SKG, 0).unsqueeze(-1) * seen(in[2])).sum(0).view({1, -1}));
  }
  return at::cat(rows, 0);
}

Tensors are_finite(const Tensors& tensors) {
  Tensors result;
  for (const at::Tensor& x : tensors) {
    result.push_back(x.isfinite());
  }
  return result;
}

/// Outputs and gradients where one element of q or k of the first row is `value`.
void expect_spreads_as_in_torch(const Case& c, double value, size_t input, at::ScalarType dtype) {
  const PackedBatch batch = make_batch(c.lengths);
  Tensors in = random_inputs(c, batch.tokens());
  in[input][c.lengths[0] / 2][1] = value;
  const auto run = [&](const testing::Operation& operation) {
    return are_finite(testing::run(operation, in, {true, true, true}, dtype));
  };
  const Tensors want = run([&](const Tensors& x) -> Tensors { return {attend_to_seen_keys(x, batch, c)}; });
  ASSERT_FALSE(want[0].all().item<bool>()) << "the case shows nothing";
  testing::for_each_isa([&] {
    const Tensors got =
        run([&](const Tensors& x) -> Tensors { return {attention(x[0], x[1], x[2], batch, nullptr, options_of(c))}; });
    EXPECT_TRUE(got[0].equal(want[0])) << "outputs";
    for (size_t i = 1; i < got.size(); ++i) {
      EXPECT_FALSE(got[i].logical_and(want[i].logical_not()).any().item<bool>()) << "gradient " << i << " is finite";
      EXPECT_TRUE(got[i].narrow(0, c.lengths[0], c.lengths[1]).all().item<bool>()) << "the other row, gradient " << i;
    }
  });
}

TEST(Attention, WhatIsNotFiniteInQueriesOrKeysSpreadsAsInTorch) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Case& c : {Case{{130, 9}, 1, 1, 8}, Case{{70, 66}, 8, 4, 16}}) {
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
      for (const size_t input : {0, 1}) {
        for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
          SCOPED_TRACE(::testing::Message()
                       << value << " in " << (input == 0 ? "q" : "k") << ", " << at::toString(dtype));
          expect_spreads_as_in_torch(c, value, input, dtype);
        }
      }
    }
  }
}

TEST(Attention, AQueryWhoseScoresAreAllMinusInfinityAttendsToNothingAsInTorch) {
  const Case c{{3}, 1, 1, 8};
  const PackedBatch batch = make_batch(c.lengths);
  at::Tensor q = at::ones({3, 8}, at::kDouble);
  q[2][0] = -std::numeric_limits<double>::infinity();
  const auto run = [&](const auto& operation) {
    return testing::run(
        [&](const Tensors& in) -> Tensors { return {operation(in[0], in[1], in[2], batch, nullptr, options_of(c))}; },
        {q, at::ones({3, 8}, at::kDouble), at::ones({3, 8}, at::kDouble)}, {true, true, true}, at::kFloat);
  };
  const Tensors want = run([](const auto&... arguments) -> at::Tensor { return reference::attention(arguments...); });
  EXPECT_TRUE(want[0][2].eq(0).all().item<bool>());
  testing::for_each_isa([&] {
    const Tensors got = run([](const auto&... arguments) -> at::Tensor { return attention(arguments..., nullptr); });
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(got[i].allclose(want[i], 1e-5, 1e-6, /*equal_nan=*/true)) << got[i] << want[i];
    }
  });
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
