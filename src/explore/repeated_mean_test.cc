#include "explore/repeated_mean.h"

#include <gmock/gmock.h>

#include <vector>

#include "experiment/catalogue.h"

namespace assay::explore {
namespace {

constexpr char kSpeed[] = "dataset_tokens_per_second";

const experiment::Experiment& Full() {
  return **experiment::FindExperiment("finetune_full_benchmark-v1.0.0");
}

std::vector<samplestore::Measurement> RunsOf(const std::vector<double>& speeds) {
  std::vector<samplestore::Measurement> runs;
  for (const double speed : speeds) {
    runs.emplace_back().properties[kSpeed] = speed;
  }
  return runs;
}

TEST(RepeatedMeanTest, EndsAtTheFirstLookThatIsNarrowWhateverCameAfter) {
  const auto mean = LookAtRuns(Full(), RunsOf({100, 140, 100.1, 99.9, 100, 100.1, 500}),
                               {.interval = 0.9, .target = kSpeed, .at_most = 10});
  ASSERT_TRUE(mean.has_value());
  EXPECT_TRUE(mean->narrow);
  EXPECT_LT(mean->estimate.batches, 7);
  EXPECT_LE(mean->relative_half_width(), 0.9);
  EXPECT_EQ(mean->unit, "tokens/s");
}

TEST(RepeatedMeanTest, IsTheNewestWhereNoneIsNarrowAndLooksNoFurtherThanTheLast) {
  const auto mean =
      LookAtRuns(Full(), RunsOf({100, 140, 90, 150, 100, 100, 100}), {.interval = 0.01, .target = {}, .at_most = 4});
  ASSERT_TRUE(mean.has_value());
  EXPECT_FALSE(mean->narrow);
  EXPECT_EQ(mean->estimate.batches, 4);
  EXPECT_EQ(mean->target, kSpeed) << "its throughput";
  EXPECT_DOUBLE_EQ(mean->estimate.mean, 120);
}

TEST(RepeatedMeanTest, TwoRunsAndRunsWithoutTheTargetSayNothing) {
  EXPECT_FALSE(LookAtRuns(Full(), RunsOf({100, 100}), {.interval = 0.5, .target = kSpeed, .at_most = 9}));
  EXPECT_FALSE(LookAtRuns(Full(), RunsOf({1, 1, 1}), {.interval = 0.5, .target = "train_runtime", .at_most = 9}));
}

}  // namespace
}  // namespace assay::explore
