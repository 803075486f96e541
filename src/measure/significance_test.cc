#include "measure/significance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace assay::measure {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

UncertainMean Of(const std::vector<double>& values) {
  RunningMoments moments;
  for (const double value : values) {
    moments.Add(value);
  }
  const auto count = static_cast<double>(values.size());
  return {moments.mean(), std::sqrt(moments.variance() / count), count - 1};
}

// scipy.stats.ttest_ind(b, a, equal_var=False) and its confidence_interval().
TEST(SignificanceTest, TwoMeansAreComparedAsWelchDoes) {
  const Difference difference = CompareMeans(Of({100, 103, 99, 104, 101}), Of({110, 108, 115}));
  EXPECT_NEAR(difference.difference, 9.6, 1e-12);
  EXPECT_NEAR(difference.p_value, 0.02764489717202906, 1e-9);
  EXPECT_NEAR(difference.interval.low, 2.07383290814115, 1e-6);
  EXPECT_NEAR(difference.interval.high, 17.12616709185884, 1e-6);
}

// scipy.stats.ttest_1samp(values, 0).
TEST(SignificanceTest, OneMeanIsComparedWithZero) {
  const Difference difference = TestAgainstZero(Of({0.1, 0.2, 0.05, 0.15}));
  EXPECT_NEAR(difference.p_value, 0.03046629166217096, 1e-9);
  EXPECT_NEAR(difference.interval.low, 0.02228698716197397, 1e-9);
  EXPECT_NEAR(difference.interval.high, 0.22771301283802603, 1e-9);
}

// 2 * scipy.stats.t.sf(t, df).
TEST(SignificanceTest, TheTwoSidedProbabilityIsThatOfStudentsTable) {
  EXPECT_NEAR(StudentTwoSided(-2.5, 4), 0.06676654481198814, 1e-12);
  EXPECT_NEAR(StudentTwoSided(1.96, 1e9), 0.049995790573729625, 1e-6);
  EXPECT_NEAR(StudentTwoSided(0.3, 2.7), 0.7857665326944482, 1e-12);
}

TEST(SignificanceTest, WithoutSpreadWhatDiffersDiffersForCertain) {
  EXPECT_EQ(CompareMeans({1, 0, 2}, {2, 0, 2}).p_value, 0);
  EXPECT_EQ(CompareMeans({1, 0, 2}, {1, 0, 2}).p_value, 1);
}

TEST(SignificanceTest, AMeanOfMeansHasTheErrorOfTheirSum) {
  const std::vector<UncertainMean> means = {{2, 3, 4}, {4, 4, 4}};
  const UncertainMean mean = MeanOfMeans(means);
  EXPECT_DOUBLE_EQ(mean.mean, 3);
  EXPECT_DOUBLE_EQ(mean.standard_error, 2.5);
  EXPECT_NEAR(mean.degrees_of_freedom, 625.0 / ((81.0 + 256.0) / 4), 1e-9);
}

// statsmodels.stats.multitest.multipletests(p, method="holm")
TEST(SignificanceTest, ManyAreCorrectedForBeingMany) {
  const std::vector<double> p_values = {0.01, 0.04, 0.03, 0.005};
  EXPECT_THAT(HolmAdjusted(p_values, 4), ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12),
                                                     DoubleNear(0.06, 1e-12), DoubleNear(0.02, 1e-12)));
  EXPECT_THAT(HolmAdjusted(p_values, 100), ElementsAre(DoubleNear(0.99, 1e-12), 1, 1, DoubleNear(0.5, 1e-12)));
  EXPECT_TRUE(HolmAdjusted({}, 0).empty());
}

}  // namespace
}  // namespace assay::measure
