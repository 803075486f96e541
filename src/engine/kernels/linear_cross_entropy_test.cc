// The fused head and loss against plain libtorch in float64.
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
};

const std::vector<LossCase> kLossCases = {
    {1, 16, 50, {0}}, {9, 33, 101, {0, 3, 4, 8}}, {40, 64, 1000, {1, 5, 20, 38, 39}, 8.0}, {6, 24, 77, {}}};

Tensors plain(const Tensors& in, const at::Tensor& positions, const at::Tensor& targets, double divisor) {
  const at::Tensor logits = at::mm(in[0].index_select(0, positions), in[1].t()) / divisor;
  return {-at::log_softmax(logits, -1).gather(-1, targets.unsqueeze(-1)).sum()};
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
              return {linear_cross_entropy_sum(in[0], in[1], positions, targets, c.divisor)};
            },
            [&](const Tensors& in) -> Tensors { return plain(in, positions, targets, c.divisor); }, inputs, grads,
            precision, "loss of " + std::to_string(c.tokens) + " tokens");
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
