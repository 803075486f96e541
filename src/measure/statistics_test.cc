#include "measure/statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace assay::measure {
namespace {

TEST(StatisticsTest, LocationAndSpread) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_EQ(Mean(values), 5);
  EXPECT_EQ(Median(values), 4.5);
  EXPECT_EQ(MedianAbsoluteDeviation(values), 0.5);
  EXPECT_EQ(MedianAbsoluteDeviation(std::vector<double>{1, 1, 2, 2, 4, 6, 9}), 1);
}

TEST(StatisticsTest, FewValues) {
  EXPECT_TRUE(std::isnan(Mean({})));
  EXPECT_TRUE(std::isnan(Median({})));
  EXPECT_TRUE(std::isnan(MedianAbsoluteDeviation({})));
  const std::vector<double> one = {3};
  EXPECT_EQ(Median(one), 3);
  EXPECT_EQ(Quantile(one, 0.9), 3);
}

// A sum of squares less the squared mean loses all digits here.
TEST(StatisticsTest, VarianceSurvivesALargeOffset) {
  RunningMoments moments;
  for (const double value : {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}) {
    moments.Add(value);
  }
  EXPECT_DOUBLE_EQ(moments.variance(), 30);
}

// numpy.quantile([7, 1, 3, 12, 5], q)
TEST(StatisticsTest, QuantilesAreNumpys) {
  const std::vector<double> values = {7, 1, 3, 12, 5};
  EXPECT_EQ(Quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.1), 1.8);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.25), 3);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.9), 10);
  EXPECT_EQ(Quantile(values, 1), 12);
}

// A table of Student's distribution.
TEST(DistributionsTest, MatchTheTable) {
  EXPECT_NEAR(StudentQuantile(0.975, 1), 12.706204736, 1e-6);
  EXPECT_NEAR(StudentQuantile(0.975, 4), 2.776445105, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.95, 9), 1.833112933, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.005, 30), -2.749995654, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.975, 1e6), 1.959966, 1e-5);
}

// Five values, each its own batch by hand: t(4) = 2.776, s = sqrt(2.5), n = 5 -- reached with two values a batch by
// giving each value twice.
TEST(BatchMeansTest, IsStudentsIntervalOverTheBatches) {
  const std::vector<double> values = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
  const MeanEstimate estimate = BatchMeansInterval(values);
  EXPECT_EQ(estimate.batches, 5);
  EXPECT_EQ(estimate.mean, 3);
  const double half_width = 2.776445105 * std::sqrt(2.5 / 5);
  EXPECT_NEAR(estimate.interval.low, 3 - half_width, 1e-8);
  EXPECT_NEAR(estimate.interval.high, 3 + half_width, 1e-8);
}

TEST(BatchMeansTest, FewerThanFourBatchesMakeNoInterval) {
  EXPECT_TRUE(std::isnan(BatchMeansInterval({}).mean));
  const std::vector<double> values = {3, 5, 4, 3, 5, 4, 3, 5};
  const MeanEstimate seven = BatchMeansInterval(std::span(values).first(7));
  EXPECT_NEAR(seven.mean, 27.0 / 7, 1e-12);
  EXPECT_FALSE(seven.has_interval()) << "no interval is told from one or two degrees of freedom";
  EXPECT_TRUE(BatchMeansInterval(values).has_interval());
}

TEST(MeanIntervalTest, IsStudentsFromThreeValuesOn) {
  const MeanEstimate five = MeanInterval(std::vector<double>{1, 2, 3, 4, 5});
  EXPECT_NEAR(five.half_width(), 2.776445105 * std::sqrt(2.5 / 5), 1e-8);
  const MeanEstimate two = MeanInterval(std::vector<double>{100, 101});
  EXPECT_EQ(two.mean, 100.5);
  EXPECT_FALSE(two.has_interval());
}

TEST(RatioIntervalTest, StepsOfOneSpeedAndDifferentSizesHaveNoSpread) {
  const std::vector<double> tokens = {100, 200, 50, 400, 100, 200, 50, 400};
  const std::vector<double> seconds = {1, 2, 0.5, 4, 1, 2, 0.5, 4};
  const MeanEstimate rate = RatioInterval(tokens, seconds);
  EXPECT_NEAR(rate.mean, 100, 1e-12);
  EXPECT_NEAR(rate.half_width(), 0, 1e-9);
  EXPECT_GT(BatchMeansInterval(seconds).half_width(), 0.3) << "while the step time itself is far from sure";
}

TEST(RatioIntervalTest, SpreadsWithTheSpeed) {
  const std::vector<double> tokens(8, 100);
  const MeanEstimate rate = RatioInterval(tokens, std::vector<double>{1, 1, 2, 2, 1, 1, 2, 2});
  EXPECT_NEAR(rate.mean, 100 / 1.5, 1e-9);
  // Residuals +-100/3 in four batches: Student's quantile for three degrees of freedom, over the mean step time.
  EXPECT_NEAR(rate.half_width(), 3.182446305 * (100.0 / 3) * std::sqrt(4.0 / 3) / 2 / 1.5, 1e-6);
}

std::vector<double> CorrelatedNoise(std::mt19937_64& random, size_t size) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = 0;
  for (size_t i = 0; i < size; ++i) {
    state = 0.8 * state + normal(random);
    values.push_back(10 + state);
  }
  return values;
}

// What the batches are for: neighbours that resemble each other make the plain interval far too narrow.
TEST(BatchMeansTest, CoversTheMeanOfCorrelatedValues) {
  constexpr int kTrials = 100;
  std::mt19937_64 random(1);
  int covered = 0;
  int covered_if_independent = 0;
  for (int i = 0; i < kTrials; ++i) {
    const std::vector<double> values = CorrelatedNoise(random, 400);
    const Interval batched = BatchMeansInterval(values).interval;
    const Interval plain = BatchMeansInterval(values, 0.95, 200).interval;
    covered += batched.low < 10 && 10 < batched.high ? 1 : 0;
    covered_if_independent += plain.low < 10 && 10 < plain.high ? 1 : 0;
  }
  EXPECT_GT(covered, 0.88 * kTrials);
  EXPECT_LT(covered_if_independent, 0.80 * kTrials);
}

// scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
TEST(WilsonIntervalTest, IsScipys) {
  EXPECT_NEAR(WilsonInterval(4, 5).low, 0.3755346298, 1e-8);
  EXPECT_NEAR(WilsonInterval(4, 5).high, 0.9637758913, 1e-8);
  EXPECT_NEAR(WilsonInterval(5, 5).low, 0.5655175352, 1e-8);
  EXPECT_NEAR(WilsonInterval(30, 100).low, 0.2189488529, 1e-8);
  EXPECT_DOUBLE_EQ(WilsonInterval(5, 5).high, 1);
  EXPECT_NEAR(WilsonInterval(0, 5).low, 0, 1e-15);
}

/// How often, of so many experiments that end at the first look at which `interval` is within 5 % of its mean, that one
/// holds the true mean.
template <typename IntervalOf>
double CoverageOfTheFirstNarrow(const IntervalOf& interval, int64_t at_most) {
  constexpr int kExperiments = 20'000;
  constexpr double kMean = 100;
  constexpr double kDeviation = 8;
  std::mt19937_64 random(7);
  std::normal_distribution<double> values_of(kMean, kDeviation);
  int held = 0;
  for (int experiment = 0; experiment < kExperiments; ++experiment) {
    std::vector<double> values;
    MeanEstimate seen;
    do {
      values.push_back(values_of(random));
      seen = interval(values);
    } while (std::ssize(values) < at_most && !(seen.has_interval() && seen.half_width() <= 0.05 * seen.mean));
    held += seen.interval.low <= kMean && kMean <= seen.interval.high ? 1 : 0;
  }
  return static_cast<double>(held) / kExperiments;
}

TEST(SequentialIntervalTest, HoldsTheMeanWhereverOneEndsWhichThePlainOneDoesNot) {
  for (const int64_t at_most : {3, 10, 30}) {
    SCOPED_TRACE(at_most);
    const auto sequential = [&](const std::vector<double>& values) { return SequentialInterval(values, at_most); };
    EXPECT_GE(CoverageOfTheFirstNarrow(sequential, at_most), at_most == 3 ? 0.945 : 0.95);
  }
  const auto plain = [](const std::vector<double>& values) { return MeanInterval(values); };
  EXPECT_LT(CoverageOfTheFirstNarrow(plain, 30), 0.93);
}

TEST(SequentialIntervalTest, OfOneLookIsThePlainOneAndOfMoreIsWider) {
  const std::vector<double> values = {9, 10, 11};
  EXPECT_DOUBLE_EQ(SequentialInterval(values, 3).half_width(), MeanInterval(values).half_width());
  EXPECT_DOUBLE_EQ(SequentialInterval(values, 12).half_width(), MeanInterval(values, 0.995).half_width());
  EXPECT_FALSE(SequentialInterval(std::vector<double>{1, 1}, 12).has_interval());
}

}  // namespace
}  // namespace assay::measure
