#include "engine/model/random_normal.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::engine {
namespace {

at::Tensor normal(int64_t count, uint64_t key, at::ScalarType dtype = at::kFloat) {
  at::Tensor values = at::empty({count}, dtype);
  fill_normal(values, 1.0, key);
  return values;
}

/// Share of `values` beyond `x` on both sides.
double share_beyond(const at::Tensor& values, double x) {
  return values.abs().gt(x).to(at::kDouble).mean().item<double>();
}

TEST(RandomNormalTest, HasTheMomentsAndTailsOfTheNormalDistribution) {
  const at::Tensor values = normal(2'000'000, 42).to(at::kDouble);
  EXPECT_NEAR(values.mean().item<double>(), 0.0, 0.004);
  EXPECT_NEAR(values.var().item<double>(), 1.0, 0.006);
  EXPECT_NEAR(values.pow(3).mean().item<double>(), 0.0, 0.015);
  EXPECT_NEAR(values.pow(4).mean().item<double>(), 3.0, 0.06);
  for (const double x : {0.5, 1.0, 2.0, 3.0, 3.8}) {
    const double expected = std::erfc(x / std::sqrt(2.0));
    EXPECT_NEAR(share_beyond(values, x), expected, 5 * std::sqrt(expected / 2e6)) << x;
  }
}

TEST(RandomNormalTest, DoesNotDependOnTheNumberOfThreads) {
  const int threads = at::get_num_threads();
  const at::Tensor many = normal(300'001, 7);
  at::set_num_threads(1);
  const at::Tensor one = normal(300'001, 7);
  at::set_num_threads(threads);
  EXPECT_TRUE(many.equal(one));
}

TEST(RandomNormalTest, RoundsTheSameNumbersToEveryDtype) {
  EXPECT_TRUE(normal(70'000, 3, at::kBFloat16).equal(normal(70'000, 3).to(at::kBFloat16)));
  EXPECT_TRUE(normal(70'000, 3, at::kHalf).equal(normal(70'000, 3).to(at::kHalf)));
}

TEST(RandomNormalTest, StreamsDifferByKeyAndChunk) {
  const at::Tensor values = normal(1 << 17, 5);
  EXPECT_FALSE(values.narrow(0, 0, 1 << 16).equal(values.narrow(0, 1 << 16, 1 << 16)));
  EXPECT_FALSE(values.equal(normal(1 << 17, 6)));
  EXPECT_NE(stream_key(1, "a"), stream_key(1, "b"));
  EXPECT_NE(stream_key(1, "a"), stream_key(2, "a"));
}

TEST(RandomNormalTest, UniformNumbersStayInsideTheBound) {
  at::Tensor values = at::empty({500'000}, at::kFloat);
  fill_uniform(values, 0.25, 9);
  EXPECT_LT(values.max().item<float>(), 0.25f + 1e-7f);
  EXPECT_GE(values.min().item<float>(), -0.25f);
  EXPECT_NEAR(values.mean().item<float>(), 0.0, 1e-3);
  EXPECT_NEAR(values.var().item<float>(), 0.25 * 0.25 / 3, 2e-4);
}

}  // namespace
}  // namespace assay::engine
