// The fused head and loss against plain libtorch in float64.
#include <cmath>
#include <limits>

#include "engine/kernels/ops.h"
#include "engine/kernels/test_support.h"

namespace assay::engine {
namespace {

using testing::expect_matches;
using testing::for_each_isa;
using testing::kPrecisions;
using testing::Tensors;

struct LossCase {
  int64_t tokens;
  int64_t width;
  int64_t vocabulary;
  std::vector<int64_t> positions;
  double divisor = 1.0;
  double smoothing = 0.0;
};

const std::vector<LossCase> kLossCases = {
    {1, 16, 50, {0}},         {9, 33, 101, {0, 3, 4, 8}},           {40, 64, 1000, {1, 5, 20, 38, 39}, 8.0},
    {6, 24, 77, {}},          {9, 33, 101, {0, 3, 4, 8}, 1.0, 0.1}, {40, 64, 1000, {1, 5, 20, 38, 39}, 8.0, 0.4},
    {6, 24, 77, {}, 1.0, 1.0}};

Tensors plain(const Tensors& in, const at::Tensor& positions, const at::Tensor& targets, const LossCase& c) {
  const at::Tensor logits = at::mm(in[0].index_select(0, positions), in[1].t()) / c.divisor;
  const at::Tensor losses = -at::log_softmax(logits, -1);
  const at::Tensor at_targets = losses.gather(-1, targets.unsqueeze(-1)).sum();
  return {c.smoothing == 0 ? at_targets : at_targets * (1 - c.smoothing) + losses.mean(-1).sum() * c.smoothing};
}

TEST(LinearCrossEntropy, MatchesLibtorch) {
  for (const LossCase& c : kLossCases) {
    at::manual_seed(7);
    const Tensors inputs = {at::randn({c.tokens, c.width}, at::kDouble),
                            at::randn({c.vocabulary, c.width}, at::kDouble) * 0.2};
    const at::Tensor positions = at::tensor(c.positions, at::kLong);
    const at::Tensor targets = at::arange(positions.size(0), at::kLong).mul(13).remainder(c.vocabulary);
    for (const auto& precision : kPrecisions) {
      for (const std::vector<bool>& grads : {std::vector<bool>{true, true}, {true, false}, {false, true}}) {
        expect_matches(
            [&](const Tensors& in) -> Tensors {
              return {linear_cross_entropy_sum(in[0], in[1], positions, targets, c.divisor, {}, 1.0, c.smoothing)};
            },
            [&](const Tensors& in) -> Tensors { return plain(in, positions, targets, c); }, inputs, grads, precision,
            "loss of " + std::to_string(c.tokens) + " tokens");
      }
    }
  }
}

TEST(LinearCrossEntropy, IsAFloat32ScalarAndZeroWithoutSupervisedTokens) {
  const at::Tensor none = at::empty({0}, at::kLong);
  at::Tensor hidden = at::randn({5, 16}, at::kBFloat16).set_requires_grad(true);
  const at::Tensor loss = linear_cross_entropy_sum(hidden, at::randn({30, 16}, at::kBFloat16), none, none);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_EQ(loss.dim(), 0);
  EXPECT_EQ(loss.item<float>(), 0.0F);
  loss.backward();
  EXPECT_EQ(hidden.grad().abs().max().item<float>(), 0.0F);
}

TEST(LinearCrossEntropy, SeveralChunksEqualOne) {
  at::manual_seed(2);
  constexpr int64_t kTokens = 900;  // more than one chunk of this vocabulary
  constexpr int64_t kVocabulary = 30011;
  at::Tensor hidden = at::randn({kTokens, 8}).set_requires_grad(true);
  const at::Tensor weight = at::randn({kVocabulary, 8});
  const at::Tensor positions = at::arange(kTokens, at::kLong);
  const at::Tensor targets = positions.mul(7).remainder(kVocabulary);
  const at::Tensor whole = linear_cross_entropy_sum(hidden, weight, positions, targets);
  whole.backward();
  const at::Tensor one_by_half = [&] {
    const at::NoGradGuard no_grad;
    const int64_t half = kTokens / 2;
    return linear_cross_entropy_sum(hidden, weight, positions.narrow(0, 0, half), targets.narrow(0, 0, half)) +
           linear_cross_entropy_sum(hidden, weight, positions.narrow(0, half, half), targets.narrow(0, half, half));
  }();
  EXPECT_NEAR(whole.item<float>() / one_by_half.item<float>(), 1.0, 1e-5);
  const at::Tensor probability = at::softmax(at::mm(hidden.detach().narrow(0, 890, 1), weight.t()), -1);
  at::Tensor want = at::mm(probability, weight) - weight.index_select(0, targets.narrow(0, 890, 1));
  EXPECT_LT(testing::relative_error(hidden.grad().narrow(0, 890, 1), want), 1e-4);
}

TEST(LinearCrossEntropy, GradientIsScaledByWhatComesIn) {
  at::manual_seed(4);
  const at::Tensor positions = at::arange(4, at::kLong);
  const at::Tensor start = at::randn({4, 8});
  const at::Tensor weight = at::randn({20, 8});
  const auto gradient = [&](double factor) {
    at::Tensor hidden = start.clone().set_requires_grad(true);
    (linear_cross_entropy_sum(hidden, weight, positions, positions) * factor).backward();
    return hidden.grad();
  };
  EXPECT_TRUE(gradient(0.25).allclose(gradient(1.0) * 0.25));
}

/// A trainable head has larger chunks: 48 Mi logits of 16 bits, half as many in float32.
TEST(LinearCrossEntropy, TheGradientOfAHeadAddsUpOverChunks) {
  constexpr int64_t kVocabulary = 200'003;
  constexpr int64_t kTokens = 261;  // two chunks of 16 bits, three in float32
  constexpr int64_t kPart = kTokens / 3;
  at::manual_seed(8);
  const at::Tensor hidden = at::randn({kTokens, 4});
  const at::Tensor start = at::randn({kVocabulary, 4}) * 0.5;
  const at::Tensor positions = at::arange(kTokens, at::kLong);
  const at::Tensor targets = positions.remainder(7);
  for (const auto& precision : {kPrecisions[0], kPrecisions[1]}) {
    const auto gradient = [&](int64_t begin, int64_t count) {
      at::Tensor weight = start.clone().to(precision.dtype).set_requires_grad(true);
      linear_cross_entropy_sum(hidden.to(precision.dtype), weight, positions.narrow(0, begin, count),
                               targets.narrow(0, begin, count))
          .backward();
      return weight.grad().to(at::kFloat);
    };
    const at::Tensor want = gradient(0, kPart) + gradient(kPart, kPart) + gradient(2 * kPart, kPart);
    EXPECT_LT(testing::relative_error(gradient(0, kTokens), want), precision.tolerance)
        << at::toString(precision.dtype);
  }
}

/// 2,000 tokens pull one row of the head the same way: their sum is beyond float16, their mean is not.
TEST(LinearCrossEntropy, AHeadsGradientIsSummedForTheGradientThatComes) {
  constexpr int64_t kTokens = 2000;
  constexpr double kHidden = 60;
  const at::Tensor positions = at::arange(kTokens, at::kLong);
  const at::Tensor targets = at::zeros({kTokens}, at::kLong);
  const auto gradients = [&](double loss_gradient) {
    at::Tensor hidden = at::full({kTokens, 8}, kHidden).to(at::kHalf).set_requires_grad(true);
    at::Tensor weight = at::zeros({50, 8}, at::kHalf).set_requires_grad(true);
    const at::Tensor loss = linear_cross_entropy_sum(hidden, weight, positions, targets, 1.0, {}, loss_gradient);
    torch::autograd::backward({loss}, {at::scalar_tensor(loss_gradient, at::kFloat)});
    return Tensors{hidden.grad(), weight.grad()};
  };
  for_each_isa([&] {
    const at::Tensor mean = gradients(1.0 / kTokens)[1];
    EXPECT_NEAR(mean[0][3].item<double>(), -kHidden * 49 / 50, 0.1);
    EXPECT_NEAR(mean[7][3].item<double>(), kHidden / 50, 0.01);
    EXPECT_TRUE(gradients(1.0)[1][0].isinf().all().item<bool>()) << "the loss scaler sees what does not fit";
  });
}

TEST(LinearCrossEntropy, SmallProbabilitiesSurviveWithTheLossScale) {
  // exp(-20) is 0 in float16; times 2^14 it is not.
  const at::Tensor one = at::zeros({1}, at::kLong);
  for_each_isa([&] {
    at::Tensor hidden = at::ones({1, 1}, at::kHalf);
    at::Tensor weight = at::tensor({0.0, -20.0}).to(at::kHalf).view({2, 1}).set_requires_grad(true);
    constexpr double kScale = 16384;
    const at::Tensor loss = linear_cross_entropy_sum(hidden, weight, one, one, 1.0, {}, kScale);
    torch::autograd::backward({loss}, {at::scalar_tensor(kScale, at::kFloat)});
    EXPECT_NEAR(weight.grad()[1].item<double>() / kScale / std::exp(-20.0), 1.0, 1e-2);
  });
}

TEST(LinearCrossEntropy, ALogitThatIsNotFiniteIsAsInLibtorch) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const at::Tensor positions = at::arange(2, at::kLong);
  const at::Tensor targets = at::tensor({1, 60}, at::kLong);
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (const int64_t token : {0, 5, 16, 37, 60, 66}) {
      at::Tensor weight = at::randn({67, 1}, at::kDouble);
      weight[token] = value;
      const Tensors inputs = {at::ones({2, 1}, at::kDouble), weight};
      const Tensors want = testing::run([&](const Tensors& in) { return plain(in, positions, targets, LossCase{}); },
                                        inputs, {false, true}, at::kFloat);
      for_each_isa([&] {
        const Tensors got = testing::run(
            [&](const Tensors& in) -> Tensors { return {linear_cross_entropy_sum(in[0], in[1], positions, targets)}; },
            inputs, {false, true}, at::kFloat);
        for (size_t i = 0; i < got.size(); ++i) {
          EXPECT_TRUE(got[i].isnan().equal(want[i].isnan()) && got[i].isinf().equal(want[i].isinf()))
              << value << " at " << token << ", result " << i;
        }
      });
    }
  }
}

TEST(LinearCrossEntropy, NotANumberInTheHiddenStatesShowsInTheLoss) {
  for_each_isa([] {
    at::Tensor hidden = at::zeros({2, 8});
    hidden[1][3] = std::numeric_limits<float>::quiet_NaN();
    const at::Tensor positions = at::arange(2, at::kLong);
    EXPECT_TRUE(std::isnan(linear_cross_entropy_sum(hidden, at::ones({40, 8}), positions, positions).item<float>()));
  });
}

}  // namespace
}  // namespace assay::engine
