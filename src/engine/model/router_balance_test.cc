#include "engine/model/router_balance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "engine/model/routing.h"

namespace assay::engine {
namespace {

constexpr int64_t kTokens = 7;
constexpr int64_t kExperts = 5;
constexpr int64_t kPerToken = 2;
constexpr double kGradient = 0.75;

std::vector<at::Tensor> logits_of_layers() {
  std::vector<at::Tensor> layers;
  for (int64_t layer = 0; layer < 3; ++layer) {
    const at::Tensor places = at::arange(kTokens * kExperts, at::kFloat).view({kTokens, kExperts});
    layers.push_back((places * (1.7 + static_cast<double>(layer))).sin().mul(2).requires_grad_());
  }
  return layers;
}

/// By the definition, of all layers' tokens one after the other; differentiable.
at::Tensor expected_loss(const std::vector<at::Tensor>& layers) {
  const at::Tensor probabilities = at::softmax(at::cat(layers), -1);
  const at::Tensor chosen = std::get<1>(probabilities.topk(kPerToken, -1));
  const at::Tensor share_E = at::one_hot(chosen, kExperts).sum(1).to(at::kFloat).mean(0);
  return kExperts * (share_E * probabilities.mean(0)).sum();
}

TEST(RouterBalance, IsTheLossOfAllLayersAndItsGradient) {
  const std::vector<at::Tensor> want = logits_of_layers();
  const at::Tensor want_loss = expected_loss(want);
  (want_loss * kGradient).backward();

  const std::vector<at::Tensor> got = logits_of_layers();
  const auto balance = std::make_shared<RouterBalance>(kGradient);
  at::Tensor sum = at::zeros({});
  for (const at::Tensor& logits : got) {
    sum = sum + RouterBalance::attach(logits, balance).sum();
    balance->count(logits, route(logits, kPerToken, 0, kExperts).choices_E);
  }
  EXPECT_NEAR(balance->loss().item<double>(), want_loss.item<double>(), 1e-6);
  EXPECT_FALSE(balance->loss().requires_grad());
  sum.backward();
  for (size_t layer = 0; layer < want.size(); ++layer) {
    EXPECT_TRUE(at::allclose(got[layer].grad() - 1, want[layer].grad(), 1e-4, 1e-6)) << "layer " << layer;
  }
}

TEST(RouterBalance, IsTheNumberOfChoicesWhereAllExpertsAreAlike) {
  RouterBalance balance(1);
  balance.count(at::zeros({10, kExperts}), at::full({kExperts}, 4, at::kLong));
  EXPECT_FLOAT_EQ(balance.loss().item<float>(), 2) << "ten tokens with two experts each";
}

}  // namespace
}  // namespace assay::engine
