#include "measure/linear_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay::measure {
namespace {

// numpy.linalg.lstsq of these, and the standard errors of its coefficients times t(3)
TEST(LinearFitTest, IsLeastSquaresWithStudentIntervals) {
  const std::vector<double> batch = {8, 32, 64, 128, 256};
  const std::vector<double> seconds = {4.9, 8.8, 15.4, 29.6, 57.4};
  const auto fit = FitLine(batch, seconds);
  ASSERT_TRUE(fit.has_value());
  EXPECT_NEAR(fit->slope, 0.2142671855, 1e-8);
  EXPECT_NEAR(fit->intercept, 2.307522698, 1e-8);
  EXPECT_NEAR(fit->r_squared, 0.9992475436, 1e-8);
  EXPECT_NEAR(fit->slope_interval.high - fit->slope, 3.182446305 * 0.0033946825, 1e-7);
  EXPECT_NEAR(fit->intercept_interval.high - fit->intercept, 3.182446305 * 0.448056942, 1e-5);
}

TEST(LinearFitTest, TwoPointsMakeALineWithoutAnInterval) {
  const auto fit = FitLine(std::vector<double>{1, 3}, std::vector<double>{2, 6});
  ASSERT_TRUE(fit.has_value());
  EXPECT_DOUBLE_EQ(fit->slope, 2);
  EXPECT_DOUBLE_EQ(fit->intercept, 0);
  EXPECT_TRUE(std::isinf(fit->slope_interval.high));
}

TEST(LinearFitTest, OneBatchSizeMakesNone) {
  EXPECT_FALSE(FitLine(std::vector<double>{8, 8}, std::vector<double>{1, 2}).has_value());
  EXPECT_FALSE(FitLine(std::vector<double>{}, std::vector<double>{}).has_value());
}

TEST(CrossoverTest, NamesTheLineThatWinsBeyondIt) {
  const LinearFit small_start{.intercept = 0.4, .slope = 0.013};
  const LinearFit steep_never{.intercept = 2.3, .slope = 0.0107};
  const auto crossover = CrossoverOf(small_start, steep_never);
  ASSERT_TRUE(crossover.has_value());
  EXPECT_NEAR(crossover->x, 1.9 / 0.0023, 1e-9);
  EXPECT_TRUE(crossover->second_is_lower_beyond);
  EXPECT_FALSE(CrossoverOf(steep_never, small_start)->second_is_lower_beyond);
}

TEST(CrossoverTest, ParallelLinesAndMeetingsAtNoBatchAreNone) {
  EXPECT_FALSE(CrossoverOf({.intercept = 1, .slope = 2}, {.intercept = 2, .slope = 2}).has_value());
  EXPECT_FALSE(CrossoverOf({.intercept = 1, .slope = 2}, {.intercept = 2, .slope = 3}).has_value());
}

}  // namespace
}  // namespace assay::measure
