#include "report/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "measure/statistics.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

const Metric kThroughputMetric{MetricKind::kThroughput,  "Throughput",    "throughput",
                               "real_tokens_per_second", "real tokens/s", "training_steps"};

Configuration ConfigurationOf(const std::vector<Measurement>& runs) {
  Configuration configuration;
  configuration.outcome = samplestore::Outcome::kValid;
  for (const Measurement& run : runs) {
    configuration.runs.push_back(&run);
  }
  return configuration;
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

TEST(EstimateTest, RepeatsThatCouldEndEarlyHaveTheIntervalOfTheirLooks) {
  std::vector<Measurement> runs = {testing::MakeValid({}), testing::MakeValid({}), testing::MakeValid({})};
  const std::vector<double> values = {100, 101, 103};
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].properties["real_tokens_per_second"] = values[i];
  }
  const Estimate plain = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_NEAR(plain.high, measure::MeanInterval(values).interval.high, 1e-9);
  runs[2].provenance["repeats_at_most"] = "20";
  const Estimate looked_at = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_NEAR(looked_at.high, measure::SequentialInterval(values, 20).interval.high, 1e-9);
  EXPECT_GT(looked_at.high - looked_at.value, 3 * (plain.high - plain.value));
  // Comparisons are made of the error: with the freedom it gives the same interval.
  EXPECT_NEAR(looked_at.standard_error / plain.standard_error,
              (looked_at.high - looked_at.value) / (plain.high - plain.value), 1e-9);
}

TEST(EstimateTest, SaysOnHowManyStepsTheRunsOwnIntervalStands) {
  const std::vector<Measurement> runs = {testing::MakeValid({})};
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_EQ(estimate.basis, Basis::kReported);
  EXPECT_LT(estimate.low, estimate.value);
  EXPECT_GT(estimate.high, estimate.value);
  EXPECT_NE(IntervalText(estimate).find("24 steps of one run"), std::string::npos);
}

TEST(EstimateTest, AFewStepsMakeNoIntervalWhateverTheRunSays) {
  std::vector<Measurement> runs = {testing::MakeValid({.steps = 5})};
  runs[0].properties["real_tokens_per_second_ci_low"] = 211.0;
  runs[0].properties["real_tokens_per_second_ci_high"] = 411.0;
  EXPECT_FALSE(EstimateOf(ConfigurationOf(runs), kThroughputMetric)->has_interval());
}

TEST(EstimateTest, TwoRunsMakeAMeanWithoutAnInterval) {
  std::vector<Measurement> runs(2, testing::MakeValid({}));
  runs[0].properties["real_tokens_per_second"] = 100.0;
  runs[1].properties["real_tokens_per_second"] = 104.0;
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_DOUBLE_EQ(estimate.value, 102);
  EXPECT_FALSE(estimate.has_interval());
  EXPECT_EQ(IntervalText(estimate), "mean of 2 runs, no interval below 3");
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

TEST(EstimateTest, AnIntervalIsCutAtZeroOnlyWhereNothingLiesBelow) {
  const auto of = [](MetricKind kind, const std::string& property, const std::vector<double>& values) {
    std::vector<Measurement> runs(values.size(), testing::MakeValid({}));
    for (size_t i = 0; i < runs.size(); ++i) {
      runs[i].properties[property] = values[i];
    }
    return *EstimateOf(ConfigurationOf(runs), {kind, "", "", property, ""});
  };
  for (const MetricKind kind : {MetricKind::kOther, MetricKind::kLoss}) {
    const Estimate below = of(kind, "score", {-4, -5, -6});
    EXPECT_NEAR(below.low, -5 - 4.303 / std::sqrt(3.0), 1e-3);
    EXPECT_NEAR(below.high, -5 + 4.303 / std::sqrt(3.0), 1e-3);
  }
  const Estimate cut = of(MetricKind::kThroughput, "real_tokens_per_second", {1, 5, 1.2});
  EXPECT_EQ(cut.low, 0);
  EXPECT_NEAR(cut.high, 8, 0.01);
  EXPECT_EQ(SpreadText(cut), "0 to 8.00");
  EXPECT_EQ(SpreadText(of(MetricKind::kOther, "score", {1, 2, 3})), "\u00b12.48");
}

TEST(EstimateTest, RunsThatWaitedForAProcessorCountOnlyWhereThereAreNoOthers) {
  std::vector<Measurement> runs(4, testing::MakeValid({}));
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].properties["real_tokens_per_second"] = 100.0 + static_cast<double>(i);
  }
  runs[3].properties["real_tokens_per_second"] = 20.0;
  runs[3].provenance["starved"] = "waited for a processor for 4.00 s of 10.0 s";
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_DOUBLE_EQ(estimate.value, 101);
  EXPECT_EQ(estimate.samples, 3u);
  const std::vector<Measurement> starved = {runs[3]};
  EXPECT_DOUBLE_EQ(EstimateOf(ConfigurationOf(starved), kThroughputMetric)->value, 20);
}

TEST(EstimateTest, OneNumberHasNoInterval) {
  std::vector<Measurement> runs = {testing::MakeValid({})};
  runs[0].properties.erase("real_tokens_per_second_ci_low");
  const Estimate estimate = *EstimateOf(ConfigurationOf(runs), kThroughputMetric);
  EXPECT_FALSE(estimate.has_interval());
  EXPECT_EQ(IntervalText(estimate), "one run, no interval");
}

TEST(ApartTest, NeedsTwoIntervalsThatShareNothing) {
  const Estimate low{10, 9, 11, Basis::kReported, 5};
  const Estimate high{20, 18, 22, Basis::kReported, 5};
  const Estimate touching{12, 11, 13, Basis::kReported, 5};
  const Estimate bare{50, 50, 50, Basis::kNone, 1};
  EXPECT_TRUE(Apart(low, high));
  EXPECT_TRUE(Apart(high, low));
  EXPECT_FALSE(Apart(low, touching));
  EXPECT_FALSE(Apart(low, bare));
}

}  // namespace
}  // namespace assay::report
