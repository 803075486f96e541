// Embedding, norms, SwiGLU and residual sums against plain libtorch in float64.
#include <limits>

#include "engine/kernels/ops.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::expect_matches;
using testing::for_each_isa;
using testing::kPrecisions;
using testing::random;
using testing::Tensors;

constexpr double kEps = 1e-5;

at::Tensor plain_norm(const at::Tensor& x, const at::Tensor& weight) {
  return x * at::rsqrt(x.square().mean(-1, true) + kEps) * weight;
}

const std::vector<std::vector<int64_t>> kShapes = {{1, 8}, {1, 33}, {7, 96}, {130, 51}, {200, 576}};

TEST(RmsNorm, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const auto& shape : kShapes) {
      const Tensors inputs = {random(shape), random({shape[1]}, 2)};
      for (const std::vector<bool>& grads : {std::vector<bool>{true, true}, {true, false}, {false, true}}) {
        expect_matches([](const Tensors& in) -> Tensors { return {rms_norm(in[0], in[1], kEps)}; },
                       [](const Tensors& in) -> Tensors { return {plain_norm(in[0], in[1])}; }, inputs, grads,
                       precision, "rms_norm");
      }
    }
  }
}

TEST(AddRmsNorm, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const auto& shape : kShapes) {
      for (const double multiplier : {1.0, 0.22}) {
        const Tensors inputs = {random(shape), random(shape, 3), random({shape[1]}, 2)};
        expect_matches(
            [&](const Tensors& in) -> Tensors {
              const auto [sum, normed] = add_rms_norm(in[0], in[1], in[2], kEps, multiplier);
              return {sum, normed};
            },
            [&](const Tensors& in) -> Tensors {
              const at::Tensor sum = in[0] + multiplier * in[1];
              return {sum, plain_norm(sum, in[2])};
            },
            inputs, {true, true, true}, precision, "add_rms_norm");
      }
    }
  }
}

TEST(AddRmsNorm, EitherOutputAloneCarriesTheGradient) {
  for (const bool use_norm : {false, true}) {
    const auto pick = [use_norm](const at::Tensor& sum, const at::Tensor& normed) -> Tensors {
      return {use_norm ? normed : sum};
    };
    expect_matches(
        [&](const Tensors& in) {
          const auto [sum, normed] = add_rms_norm(in[0], in[1], in[2], kEps, 0.5);
          return pick(sum, normed);
        },
        [&](const Tensors& in) {
          const at::Tensor sum = in[0] + 0.5 * in[1];
          return pick(sum, plain_norm(sum, in[2]));
        },
        {random({6, 40}), random({6, 40}, 3), random({40}, 2)}, {true, true, false}, kPrecisions[0], "one output");
  }
}

TEST(AddScaled, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const double multiplier : {1.0, 0.3}) {
      expect_matches([&](const Tensors& in) -> Tensors { return {add_scaled(in[0], in[1], multiplier)}; },
                     [&](const Tensors& in) -> Tensors { return {in[0] + multiplier * in[1]}; },
                     {random({5, 77}), random({5, 77}, 2)}, {true, true}, precision, "add_scaled");
    }
  }
}

TEST(Swiglu, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const auto& shape : kShapes) {
      expect_matches([](const Tensors& in) -> Tensors { return {swiglu(in[0], in[1])}; },
                     [](const Tensors& in) -> Tensors { return {at::silu(in[0]) * in[1]}; },
                     {random(shape) * 4, random(shape, 2)}, {true, true}, precision, "swiglu");
    }
  }
}

TEST(Swiglu, WeightedMatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const int64_t rows : {int64_t{0}, int64_t{7}, int64_t{5000}}) {  // the last ones in several stretches
      expect_matches([](const Tensors& in) -> Tensors { return {weighted_swiglu(in[0], in[1], in[2])}; },
                     [](const Tensors& in) -> Tensors { return {at::silu(in[0]) * in[1] * in[2].unsqueeze(1)}; },
                     {random({rows, 65}) * 4, random({rows, 65}, 2), random({rows}, 3)}, {true, true, true}, precision,
                     "weighted swiglu");
    }
  }
}

TEST(Swiglu, LargeArgumentsStayFinite) {
  for_each_isa([] {
    const at::Tensor gate = at::tensor({-200.0F, -90.0F, 0.0F, 90.0F, 200.0F});
    const at::Tensor y = swiglu(gate, at::ones({5}));
    EXPECT_TRUE(y.allclose(at::silu(gate), 1e-6, 1e-30));
  });
}

/// Results and gradients are not finite where libtorch's are not.
void expect_finite_alike(const testing::Operation& ours, const testing::Operation& reference, const Tensors& inputs,
                         const std::string& what) {
  const std::vector<bool> grads(inputs.size(), true);
  for (const auto& precision : kPrecisions) {
    const Tensors want = testing::run(reference, inputs, grads, precision.dtype);
    for_each_isa([&] {
      const Tensors got = testing::run(ours, inputs, grads, precision.dtype);
      for (size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(got[i].isfinite().equal(want[i].isfinite())) << what << ", result " << i << got[i] << want[i];
      }
    });
  }
}

/// Several vectors of every instruction set, and a rest.
at::Tensor with_odd_numbers() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const at::Tensor x = random({37}, 4);
  x.index_fill_(0, at::tensor({3, 20, 36}, at::kLong), std::numeric_limits<double>::quiet_NaN());
  x.index_fill_(0, at::tensor({5, 35}, at::kLong), kInfinity);
  x.index_fill_(0, at::tensor({7, 34}, at::kLong), -kInfinity);
  return x;
}

TEST(Swiglu, WhatIsNotFiniteIsAsInLibtorch) {
  const at::Tensor odd = with_odd_numbers();
  const at::Tensor plain = random({37}, 5);
  for (const Tensors& inputs : {Tensors{odd, plain}, Tensors{plain, odd}}) {
    expect_finite_alike([](const Tensors& in) -> Tensors { return {swiglu(in[0], in[1])}; },
                        [](const Tensors& in) -> Tensors { return {at::silu(in[0]) * in[1]}; }, inputs, "swiglu");
  }
}

TEST(Gelu, WhatIsNotFiniteIsAsInLibtorch) {
  for (const bool tanh_form : {false, true}) {
    expect_finite_alike(
        [&](const Tensors& in) -> Tensors { return {gelu(in[0], tanh_form ? GeluForm::kTanh : GeluForm::kErf)}; },
        [&](const Tensors& in) -> Tensors { return {at::gelu(in[0], tanh_form ? "tanh" : "none")}; },
        {with_odd_numbers()}, tanh_form ? "tanh gelu" : "gelu");
  }
}

TEST(RmsNorm, NotANumberSpoilsItsRowAlone) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    at::Tensor x = random({3, 37});
    x[1][36] = value;
    for_each_isa([&] {
      const Tensors got = testing::run([](const Tensors& in) -> Tensors { return {rms_norm(in[0], in[1], kEps)}; },
                                       {x, random({37}, 2)}, {true, true}, at::kFloat);
      EXPECT_TRUE(got[1][1].isnan().all().item<bool>()) << "the row's gradient";
      EXPECT_TRUE(got[0][1][36].isnan().item<bool>());
      EXPECT_TRUE(got[0][0].isfinite().all().item<bool>() && got[1][2].isfinite().all().item<bool>());
      EXPECT_FALSE(got[2].isfinite().all().item<bool>()) << "the weight's gradient";
    });
  }
}

TEST(Embedding, MatchesLibtorch) {
  const at::Tensor ids = at::tensor({3, 0, 3, 9, 3, 1, 0}, at::kLong);
  for (const auto& precision : kPrecisions) {
    for (const double multiplier : {1.0, 12.0}) {
      expect_matches([&](const Tensors& in) -> Tensors { return {embedding(in[1], in[0], multiplier)}; },
                     [&](const Tensors& in) -> Tensors { return {in[0].index_select(0, in[1]) * multiplier}; },
                     {random({10, 37}), ids}, {true, false}, precision, "embedding");
    }
  }
}

TEST(Embedding, RefusesAnIdOutsideTheTable) {
  EXPECT_THROW(embedding(at::tensor({0, 4}, at::kLong), at::ones({4, 8}), 1.0), c10::IndexError);
}

TEST(RmsNorm, GradientOfFloat64MatchesFiniteDifferences) {
  const at::Tensor weight = random({6}, 2);
  at::Tensor x = random({2, 6}).set_requires_grad(true);
  const at::Tensor seed = random({2, 6}, 3);
  rms_norm(x, weight, kEps).backward(seed);
  const at::Tensor analytic = x.grad();
  const at::NoGradGuard no_grad;
  for (int64_t i = 0; i < x.numel(); ++i) {
    constexpr double kStep = 1e-6;
    const at::Tensor up = x.detach().clone();
    const at::Tensor down = x.detach().clone();
    up.view(-1)[i] += kStep;
    down.view(-1)[i] -= kStep;
    const at::Tensor slope = ((rms_norm(up, weight, kEps) - rms_norm(down, weight, kEps)) * seed).sum() / (2 * kStep);
    EXPECT_NEAR(analytic.view(-1)[i].item<double>(), slope.item<double>(), 1e-7);
  }
}

}  // namespace
}  // namespace assay::engine
