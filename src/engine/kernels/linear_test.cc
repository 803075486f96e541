// Linear layers, plain and with a low-rank update, against plain libtorch in float64.
#include <ATen/Parallel.h>

#include "engine/kernels/memory.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::expect_matches;
using testing::kPrecisions;
using testing::random;
using testing::relative_error;
using testing::Tensors;

struct Shape {
  int64_t tokens;
  int64_t in;
  int64_t out;
};

const std::vector<Shape> kShapes = {{1, 8, 5}, {7, 33, 20}, {130, 64, 96}, {65, 576, 192}};

TEST(Linear, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const Shape& s : kShapes) {
      const Tensors inputs = {random({s.tokens, s.in}), random({s.out, s.in}, 2), random({s.out}, 3)};
      for (const std::vector<bool>& grads :
           {std::vector<bool>{true, true, true}, {true, false, false}, {false, true, true}}) {
        expect_matches([](const Tensors& in) -> Tensors { return {engine::linear(in[0], in[1], in[2])}; },
                       [](const Tensors& in) -> Tensors { return {at::linear(in[0], in[1], in[2])}; }, inputs, grads,
                       precision, "linear with bias");
        expect_matches([](const Tensors& in) -> Tensors { return {engine::linear(in[0], in[1], std::nullopt)}; },
                       [](const Tensors& in) -> Tensors { return {at::linear(in[0], in[1])}; }, {inputs[0], inputs[1]},
                       {grads[0], grads[1]}, precision, "linear");
      }
    }
  }
}

/// x W^T + scale * (x A^T) B^T; A and B stay in their own dtype.
Tensors plain_lora(const Tensors& in, double scale) {
  const at::Tensor low = at::mm(in[0], in[2].to(in[0].scalar_type()).t());
  return {at::linear(in[0], in[1]) + scale * at::mm(low, in[3].to(low.scalar_type()).t())};
}

TEST(LoraLinear, MatchesLibtorch) {
  for (const auto& precision : kPrecisions) {
    for (const Shape& s : kShapes) {
      for (const int64_t rank : {1, 4, 13}) {
        const Tensors inputs = {random({s.tokens, s.in}), random({s.out, s.in}, 2), random({rank, s.in}, 3),
                                random({s.out, rank}, 4)};
        for (const bool frozen : {true, false}) {
          expect_matches(
              [](const Tensors& in) -> Tensors {
                return {lora_linear(in[0], in[1], std::nullopt, {in[2], in[3], 0.5, 0.0})};
              },
              [](const Tensors& in) -> Tensors { return plain_lora(in, 0.5); }, inputs, {true, !frozen, true, true},
              precision, "lora_linear");
        }
      }
    }
  }
}

TEST(LoraLinear, Float32AdapterBesideA16BitModel) {
  for (const auto& precision : {kPrecisions[1], kPrecisions[2]}) {
    const at::Tensor a = random({4, 64}, 3).to(at::kFloat);
    const at::Tensor b = random({96, 4}, 4).to(at::kFloat);
    at::Tensor a_grad = a.clone().set_requires_grad(true);
    at::Tensor b_grad = b.clone().set_requires_grad(true);
    at::Tensor a_wide = a.to(at::kDouble).set_requires_grad(true);
    at::Tensor b_wide = b.to(at::kDouble).set_requires_grad(true);
    const Tensors inputs = {random({50, 64}), random({96, 64}, 2)};
    expect_matches(
        [&](const Tensors& in) -> Tensors {
          a_grad.mutable_grad() = at::Tensor();
          b_grad.mutable_grad() = at::Tensor();
          return {lora_linear(in[0], in[1], std::nullopt, {a_grad, b_grad, 2.0, 0.0})};
        },
        [&](const Tensors& in) -> Tensors { return plain_lora({in[0], in[1], a_wide, b_wide}, 2.0); }, inputs,
        {true, false}, precision, "mixed lora_linear");
    EXPECT_EQ(a_grad.grad().scalar_type(), at::kFloat);
    EXPECT_LT(relative_error(a_grad.grad(), a_wide.grad()), 1e-5);
    EXPECT_LT(relative_error(b_grad.grad(), b_wide.grad()), 1e-5);
  }
}

/// Two layers on one x; `again` or not.
Tensors two_layers(const Tensors& in, const RecomputePtr& again) {
  const LoraTensors lora{in[2], in[3], 0.5, 0.0};
  return {engine::linear(in[0], in[1], std::nullopt, again), lora_linear(in[0], in[1], std::nullopt, lora, again)};
}

TEST(Recompute, GradientsAreTheSameToTheBit) {
  const Tensors inputs = {random({7, 33}), random({20, 33}, 2), random({4, 33}, 3), random({20, 4}, 4)};
  for (const bool frozen : {true, false}) {
    int made = 0;
    const auto both = [&](bool keep) {
      return testing::run(
          [&](const Tensors& in) {
            const auto make = [&made, x = in[0].detach()] {
              ++made;
              return x.clone();
            };
            return two_layers(in, keep ? RecomputePtr() : c10::make_intrusive<Recompute>(make));
          },
          inputs, {true, !frozen, true, true}, at::kBFloat16);
    };
    const Tensors kept = both(true);
    const Tensors again = both(false);
    EXPECT_EQ(made, 1) << "made once for both layers";
    for (size_t i = 0; i < kept.size(); ++i) {
      EXPECT_TRUE(again[i].equal(kept[i])) << i;
    }
  }
}

TEST(Recompute, LetsGoOfWhatItWasMadeFromAndRefusesASecondBackward) {
  const at::Tensor source = at::randn({3, 8});
  at::Tensor weight = at::randn({4, 8}).set_requires_grad(true);
  const auto before = source.use_count();
  const at::Tensor y = engine::linear(source, weight, std::nullopt,
                                      c10::make_intrusive<Recompute>([kept = source] { return kept.clone(); }));
  EXPECT_GT(source.use_count(), before);
  y.backward(at::ones_like(y), /*retain_graph=*/true);
  EXPECT_EQ(source.use_count(), before);
  EXPECT_THROW(y.backward(at::ones_like(y)), c10::Error);
}

TEST(LoraLinear, XThatNeedsNoGradientGetsNone) {
  at::Tensor a = at::randn({4, 16}).set_requires_grad(true);
  at::Tensor b = at::randn({8, 4}).set_requires_grad(true);
  const at::Tensor x = at::randn({5, 16});
  const at::Tensor w = at::randn({8, 16});
  lora_linear(x, w, std::nullopt, {a, b, 1.0, 0.0}).sum().backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(w.grad().defined());
  EXPECT_TRUE(a.grad().defined());
}

/// With W = 0, A = identity and B = identity the output is the dropped x itself, which shows the mask.
TEST(LoraLinear, DropsByItsMaskForwardAndBackward) {
  constexpr int64_t kWidth = 64;
  testing::for_each_isa([] {
    at::Tensor x = at::ones({100, kWidth}).to(at::kBFloat16).set_requires_grad(true);
    const at::Tensor eye = at::eye(kWidth);
    const DropoutDraw draw{at::arange(100), 1, 0.25, 0, kWidth};
    const at::Tensor y =
        lora_linear(x, at::zeros({kWidth, kWidth}, at::kBFloat16), std::nullopt, {eye, eye, 1.0, 0.25, draw});
    EXPECT_TRUE(y.detach().equal((dropout_mask(draw) / 0.75).to(at::kBFloat16)));
    y.sum().backward();
    EXPECT_TRUE(x.grad().equal(y.detach()));
  });
}

/// Features [5, 69) of a wider layer, as a tensor rank has them: backward draws what forward drew, for A too.
TEST(LoraLinear, DrawsTheSameMaskAgainInBackward) {
  const Tensors inputs = {random({9, 64}), random({20, 64}, 2), random({4, 64}, 3), random({20, 4}, 4)};
  const DropoutDraw draw{at::arange(9) * 77, 0x9d2c5680fedcba98U, 0.4, 5, 64};
  const at::Tensor factors = dropout_mask(draw) / 0.6;
  const auto ours = [&](const Tensors& in) -> Tensors {
    return {lora_linear(in[0], in[1], std::nullopt, {in[2], in[3], 0.5, 0.4, draw})};
  };
  const auto plain = [&](const Tensors& in) -> Tensors {
    return {in[0].mm(in[1].t()) + (in[0] * factors).mm(in[2].t()).mm(in[3].t()) * 0.5};
  };
  const Tensors got = testing::run(ours, inputs, {true, true, true, true}, at::kFloat);
  const Tensors want = testing::run(plain, inputs, {true, true, true, true}, at::kFloat);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_LT(relative_error(got[i], want[i]), 1e-5) << i;
  }
}

TEST(LoraLinear, KeepsNoMask) {
  InstallCountingAllocator();
  const at::Tensor x = random({4096, 64}).set_requires_grad(true);
  const at::Tensor a = random({2, 64}).set_requires_grad(true);
  const at::Tensor b = random({8, 2}).set_requires_grad(true);
  const auto kept = [&](const std::optional<DropoutDraw>& draw) {
    const int64_t before = LiveTensorBytes();
    const at::Tensor y = lora_linear(x, random({8, 64}), std::nullopt, {a, b, 1.0, 0.5, draw});
    return LiveTensorBytes() - before;
  };
  const DropoutDraw draw{at::arange(4096), 1, 0.5, 0, 64};
  EXPECT_EQ(kept(draw), kept(std::nullopt));
}

TEST(LoraLinear, ThreadsAgree) {
  const Tensors inputs = {random({300, 576}), random({192, 576}, 2), random({8, 576}, 3), random({192, 8}, 4)};
  const auto once = [&](int threads) {
    at::set_num_threads(threads);
    return testing::run(
        [](const Tensors& in) -> Tensors {
          return {lora_linear(in[0], in[1], std::nullopt, {in[2], in[3], 0.5, 0.0})};
        },
        inputs, {true, true, true, true}, at::kFloat);
  };
  const int before = at::get_num_threads();
  const Tensors one = once(1);
  const Tensors two = once(2);
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_LT(relative_error(two[i], one[i]), 1e-5);
  }
}

}  // namespace
}  // namespace assay::engine
