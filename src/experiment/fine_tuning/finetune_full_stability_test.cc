#include <gmock/gmock.h>

#include "experiment/catalogue.h"
#include "experiment/testing.h"

namespace assay::experiment {
namespace {

using job::RunEnd;
using ::testing::DoubleNear;
using ::testing::VariantWith;

constexpr char kStability[] = "finetune_full_stability-v1.0.0";

Result<Measured> MeasureEnds(const std::vector<RunEnd>& ends) {
  std::vector<job::RunRecord> runs;
  for (const RunEnd end : ends) {
    runs.push_back({.end = end, .reason = "made up", .wall_seconds = 2});
  }
  return (*FindExperiment(kStability))->Measure(testing::CompletePoint(kStability), {}, runs);
}

void ExpectPart(const Measured& measured, const std::string& name, double part) {
  EXPECT_THAT(measured.properties.at(name), VariantWith<double>(DoubleNear(part, 1e-9))) << name;
}

TEST(StabilityTest, RunsFiveTimesFiveStepsWhateverTheirEnds) {
  const Experiment& stability = **FindExperiment(kStability);
  EXPECT_EQ(stability.declaration().runs.count, 5);
  EXPECT_TRUE(stability.declaration().runs.of_any_end);
  EXPECT_EQ(testing::CompletePoint(kStability).at("max_steps"), space::Value(int64_t{5}));
  EXPECT_EQ(testing::CompletePoint(testing::kFull).at("max_steps"), space::Value(int64_t{-1}));
}

TEST(StabilityTest, CountsEveryEndOnce) {
  const Measured measured =
      MeasureEnds({RunEnd::kDone, RunEnd::kOutOfMemory, RunEnd::kDiverged, RunEnd::kKilled, RunEnd::kDone}).value();
  ExpectPart(measured, "f_no_error", 0.4);
  ExpectPart(measured, "f_gpu_oom", 0.2);
  ExpectPart(measured, "f_other_error", 0.4);
  ExpectPart(measured, "runs_seconds", 10);
  EXPECT_EQ(measured.properties.at("is_valid"), space::Value(int64_t{1}));
}

// scipy.stats.binomtest(5, 5).proportion_ci(method="wilson")
TEST(StabilityTest, FiveGoodRunsAreNoCertainty) {
  const Measured measured = MeasureEnds(std::vector<RunEnd>(5, RunEnd::kDone)).value();
  ExpectPart(measured, "f_no_error", 1);
  ExpectPart(measured, "f_no_error_ci_low", 0.5655175352);
  ExpectPart(measured, "f_no_error_ci_high", 1);
}

TEST(StabilityTest, APlanThatAWorkerRefusesIsNoInstability) {
  const auto refused = MeasureEnds({RunEnd::kDone, RunEnd::kInvalid});
  EXPECT_EQ(refused.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.status().message(), "made up");
}

}  // namespace
}  // namespace assay::experiment
