#include "explore/reference_run.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/files.h"

namespace assay::explore {
namespace {

using experiment::ReferenceStep;

class ReferenceRunTest : public ::testing::Test {
 protected:
  /// Its only step, by a run that counts.
  ReferenceStep Step(const std::string& made_by) {
    const auto steps = ReferenceSteps(reference_, made_by, [this](const job::Plan&) -> Result<job::RunRecord> {
      ++runs_;
      job::RunRecord record;
      record.events = {job::Step{.step = 1, .loss = 2.5, .grad_norm = 7}};
      record.end = job::RunEnd::kDone;
      return record;
    });
    return steps.ok() && steps->size() == 1 ? steps->front() : ReferenceStep();
  }

  TemporaryDirectory directory_ = TemporaryDirectory::Create("reference").value();
  experiment::ReferenceRun reference_ = {.work = job::VitPlan(), .cache_dir = directory_.path(), .key = "model"};
  int runs_ = 0;
};

TEST_F(ReferenceRunTest, IsMadeOnceByTheSameProgramsAndAnewByOthers) {
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(Step("commit 1, libtorch 2.13").loss, 2.5);
    EXPECT_EQ(Step("commit 1, libtorch 2.13").grad_norm, 7);
    EXPECT_EQ(runs_, 1);
  }
  EXPECT_EQ(Step("commit 1, libtorch 2.14").loss, 2.5);
  EXPECT_EQ(runs_, 2);
}

TEST_F(ReferenceRunTest, AFileWithoutNormsIsMadeAgain) {
  Step("commit 1");
  const std::filesystem::directory_iterator kept(directory_.path());
  ASSERT_TRUE(WriteFileAtomically(kept->path().string(), "[2.5]").ok());
  EXPECT_EQ(Step("commit 1").grad_norm, 7);
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace assay::explore
