#include "report/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

const Metric kThroughputMetric{MetricKind::kThroughput, "Throughput", "throughput", "real_tokens_per_second",
                               "real tokens/s"};

Configuration ConfigurationOf(const std::vector<Measurement>& runs) {
  Configuration configuration;
  configuration.outcome = samplestore::Outcome::kValid;
  for (const Measurement& run : runs) {
    configuration.runs.push_back(&run);
  }
  return configuration;
}

// Values of a printed table of Student's t distribution.
TEST(StudentTest, MatchesTheTable) {
  EXPECT_NEAR(StudentT975(1), 12.706, 1e-3);
  EXPECT_NEAR(StudentT975(10), 2.228, 1e-3);
  EXPECT_NEAR(StudentT975(11), 2.201, 1e-3);
  EXPECT_NEAR(StudentT975(30), 2.042, 1e-3);
  EXPECT_NEAR(StudentT975(1000), 1.962, 1e-3);
}

TEST(MeanHalfWidthTest, IsStudentsInterval) {
  const std::vector<double> values = {1, 2, 3, 4, 5};
  EXPECT_NEAR(*MeanHalfWidth(values), 2.776 * std::sqrt(2.5 / 5), 1e-3);
  EXPECT_FALSE(MeanHalfWidth(std::vector<double>{1}).has_value());
}

TEST(RatioTest, StepsOfOneSpeedAndDifferentSizesHaveNoSpread) {
  const std::vector<double> tokens = {100, 200, 50, 400};
  const std::vector<double> seconds = {1, 2, 0.5, 4};
  EXPECT_NEAR(*RatioRelativeHalfWidth(tokens, seconds), 0, 1e-12);
  EXPECT_GT(*MeanHalfWidth(seconds), 1) << "while the step time itself is far from sure";
}

TEST(RatioTest, NeedsThreeSteps) {
  const std::vector<double> two = {1, 2};
  EXPECT_FALSE(RatioRelativeHalfWidth(two, two).has_value());
}

TEST(EstimateTest, TakesTheReportedIntervalFirst) {
  std::vector<Measurement> runs = {testing::MakeValid({})};
  runs[0].properties["real_tokens_per_second"] = 1000.0;
  runs[0].properties["real_tokens_per_second_ci_low"] = 950.0;
  runs[0].properties["real_tokens_per_second_ci_high"] = 1060.0;
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_EQ(estimate.basis, Basis::kReported);
  EXPECT_EQ(estimate.low, 950);
  EXPECT_EQ(estimate.high, 1060);
}

TEST(EstimateTest, FallsBackToTheSteps) {
  const std::vector<Measurement> runs = {testing::MakeValid({})};
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_EQ(estimate.basis, Basis::kSteps);
  EXPECT_LT(estimate.low, estimate.value);
  EXPECT_GT(estimate.high, estimate.value);
  EXPECT_NE(IntervalText(estimate).find("24 steps of one run"), std::string::npos);
}

TEST(EstimateTest, RepeatedRunsCountAboveTheirSteps) {
  std::vector<Measurement> runs(3, testing::MakeValid({}));
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].properties["real_tokens_per_second"] = 100.0 + static_cast<double>(i);
  }
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_EQ(estimate.basis, Basis::kRuns);
  EXPECT_EQ(estimate.samples, 3u);
  EXPECT_DOUBLE_EQ(estimate.value, 101);
  EXPECT_NEAR(estimate.high, 101 + 4.303 / std::sqrt(3.0), 1e-3);
}

TEST(EstimateTest, OneNumberHasNoInterval) {
  std::vector<Measurement> runs = {testing::MakeValid({})};
  runs[0].series.clear();
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_FALSE(estimate.has_interval());
  EXPECT_EQ(IntervalText(estimate), "one run, no interval");
}

TEST(ApartTest, NeedsTwoIntervalsThatShareNothing) {
  const Estimate low{10, 9, 11, Basis::kSteps, 5};
  const Estimate high{20, 18, 22, Basis::kSteps, 5};
  const Estimate touching{12, 11, 13, Basis::kSteps, 5};
  const Estimate bare{50, 50, 50, Basis::kNone, 1};
  EXPECT_TRUE(Apart(low, high));
  EXPECT_TRUE(Apart(high, low));
  EXPECT_FALSE(Apart(low, touching));
  EXPECT_FALSE(Apart(low, bare));
}

TEST(QuantileTest, InterpolatesBetweenValues) {
  const std::vector<double> sorted = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(QuantileOfSorted(sorted, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(MedianOf({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace assay::report
