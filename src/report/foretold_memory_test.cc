#include "report/foretold_memory.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "report/metric.h"
#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using ::testing::HasSubstr;
using testing::MakeValid;
using ::testing::SizeIs;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

/// A run that took 1 GiB and 0.25 GiB for each of the batch, at a length that adds 1 GiB when it is 512.
Measurement RunAt(int64_t batch, int64_t length = 256) {
  Measurement run = MakeValid({.max_length = length, .batch_size = batch});
  run.properties["peak_tensor_bytes"] = (1 + 0.25 * static_cast<double>(batch) + (length == 512 ? 1 : 0)) * kGib;
  return run;
}

UnmeasuredPoint PointLike(const Measurement& run) {
  return {.experiment = run.experiment, .parameterized_id = run.parameterized_id, .entity = run.entity};
}

class ForetoldMemoryTest : public ::testing::Test {
 protected:
  std::vector<ForetoldMemory> Foretell(const std::vector<UnmeasuredPoint>& unmeasured) {
    results_ = std::make_unique<ResultSet>(runs_, experiment::AllExperiments(), unmeasured);
    return ForetellMemory(*results_, FitCostLines(*results_, ResolveMetrics(*results_)));
  }

  std::vector<Measurement> runs_ = {RunAt(1), RunAt(2), RunAt(4), RunAt(1, 512), RunAt(2, 512), RunAt(4, 512)};
  std::unique_ptr<ResultSet> results_;
};

TEST_F(ForetoldMemoryTest, IsThatOfThePointsOwnSeries) {
  const auto foretold = Foretell({PointLike(RunAt(8)), PointLike(RunAt(8, 512))});
  ASSERT_THAT(foretold, SizeIs(2));
  EXPECT_NEAR(foretold[0].gib, 3, 1e-6);
  EXPECT_NEAR(foretold[1].gib, 4, 1e-6);
  EXPECT_EQ(foretold[0].sizes, 3);
  EXPECT_EQ(
      ForetoldMemoryText(*results_),
      "memory: 3.00 to 4.00 GiB of tensors, as foretold for 2 of 2 points by lines through 3 batch sizes or more\n");
}

TEST_F(ForetoldMemoryTest, NothingIsForetoldOfASeriesThatWasNotMeasured) {
  const auto foretold = Foretell({PointLike(RunAt(8)), PointLike(RunAt(8, 1024))});
  ASSERT_THAT(foretold, SizeIs(1));
  EXPECT_THAT(ForetoldMemoryText(*results_), HasSubstr("memory: 3.00 GiB of tensors, as foretold for 1 of 2 points"));
}

TEST_F(ForetoldMemoryTest, TwoBatchSizesProveNothing) {
  runs_.resize(2);
  EXPECT_THAT(Foretell({PointLike(RunAt(8))}), SizeIs(0));
  EXPECT_EQ(ForetoldMemoryText(*results_), "");
}

TEST_F(ForetoldMemoryTest, OfTwoMachinesTheHighestCounts) {
  for (const int64_t batch : {1, 2, 4}) {
    runs_.push_back(RunAt(batch));
    runs_.back().provenance["host"] = "another";
    runs_.back().properties["peak_tensor_bytes"] = 2.0 * static_cast<double>(batch) * kGib;
  }
  const auto foretold = Foretell({PointLike(RunAt(8))});
  ASSERT_THAT(foretold, SizeIs(1));
  EXPECT_NEAR(foretold[0].gib, 16, 1e-6);
}

}  // namespace
}  // namespace assay::report
