#include "engine/model/alibi.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::engine {
namespace {

TEST(Alibi, SlopesAreGeometric) {
  EXPECT_EQ(alibi_slopes(8), (std::vector<double>{0.5, 0.25, 0.125, 0.0625, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8}));
  const std::vector<double> six = alibi_slopes(6);  // those of four, and two of eight
  ASSERT_EQ(six.size(), 6U);
  EXPECT_DOUBLE_EQ(six[3], 0x1p-8);
  EXPECT_DOUBLE_EQ(six[4], 0.5);
  EXPECT_DOUBLE_EQ(six[5], 0.125);
}

TEST(Alibi, BiasesTheScaledProductOfQueryAndKey) {
  constexpr int64_t kTokens = 4, kHeads = 3, kFeatures = 5;
  constexpr double kScale = 0.3;
  at::manual_seed(2);
  const at::Tensor q = at::randn({kTokens, kHeads * kFeatures}, at::kDouble);
  const at::Tensor k = at::randn({kTokens, kHeads * kFeatures}, at::kDouble);
  const at::Tensor v = at::randn({kTokens, kHeads * kFeatures}, at::kDouble);
  const at::Tensor positions = at::tensor({0, 1, 300, 65535}, at::kLong);
  const std::vector<double> slopes = alibi_slopes(kHeads);
  const BiasedHeads biased = add_alibi(q, k, v, positions, slopes, kScale);
  const auto by_head = [&](const at::Tensor& x) { return x.view({kTokens, kHeads, -1}).transpose(0, 1); };
  const at::Tensor scores = kScale * by_head(biased.q_TNE).matmul(by_head(biased.k_TNE).transpose(1, 2));
  const at::Tensor plain = kScale * by_head(q).matmul(by_head(k).transpose(1, 2));
  const at::Tensor bias = at::tensor(slopes, at::kDouble).view({kHeads, 1, 1}) * positions.view({1, 1, kTokens});
  EXPECT_TRUE(scores.allclose(plain + bias, 1e-12, 1e-9));
  EXPECT_TRUE(without_alibi(biased.v_TNE, kHeads).equal(v));
}

TEST(Alibi, PlacesOfKeysAreExactIn16Bits) {
  const at::Tensor zeros = at::zeros({3, 4}, at::kBFloat16);
  const at::Tensor positions = at::tensor({255, 4097, 65535}, at::kLong);
  const at::Tensor k = add_alibi(zeros, zeros, zeros, positions, alibi_slopes(1), 1.0).k_TNE.to(at::kLong);
  EXPECT_TRUE((k.select(1, 4) * 256 + k.select(1, 5)).equal(positions));
}

}  // namespace
}  // namespace assay::engine
