#include "explore/search/gaussian_process.h"

#include <gtest/gtest.h>

namespace assay::explore {
namespace {

const std::vector<Features> kPoints = {{0.0, 0}, {0.25, 1}, {0.5, 0}, {1.0, 1}, {0.75, 0}};
const std::vector<double> kValues = {1.0, 3.0, 2.0, 5.0, 2.5};

// Made with numpy's own linear algebra, of the same kernel.
TEST(GaussianProcessTest, AgreesWithNumpy) {
  GaussianProcess process({true, false});
  process.Fit(kPoints, kValues, {.lengths = {0.5, 1.5}, .noise = 0.01});
  EXPECT_NEAR(process.log_likelihood(), -7.100110538936075, 1e-9);
  const struct {
    Features point;
    double mean;
    double standard_deviation;
  } rows[] = {{{0.6, 1}, 3.793821092362318, 0.6247269339194987},
              {{0.0, 0}, 1.0260712610300546, 0.1314782688419429},
              {{0.3, 0}, 1.6194281796715893, 0.3550801677137051}};
  for (const auto& row : rows) {
    EXPECT_NEAR(process.Predict(row.point).mean, row.mean, 1e-9);
    EXPECT_NEAR(process.Predict(row.point).standard_deviation, row.standard_deviation, 1e-9);
  }
}

TEST(GaussianProcessTest, TheBestParametersAreMoreLikelyThanAny) {
  GaussianProcess process({true, false});
  std::mt19937_64 random(1);
  process.Fit(kPoints, kValues, {.lengths = {0.5, 1.5}, .noise = 0.01});
  const double some = process.log_likelihood();
  process.FitBest(kPoints, kValues, 60, random);
  EXPECT_GT(process.log_likelihood(), some);
}

TEST(GaussianProcessTest, OneValueEverywhereIsExpectedEverywhere) {
  GaussianProcess process({true});
  process.Fit({{0.0}, {1.0}}, {4, 4}, {.lengths = {1}, .noise = 0.01});
  EXPECT_DOUBLE_EQ(process.Predict({0.5}).mean, 4);
}

}  // namespace
}  // namespace assay::explore
