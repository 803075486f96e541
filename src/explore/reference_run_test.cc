#include "explore/reference_run.h"

#include <gmock/gmock.h>

#include "base/files.h"
#include "explore/testing.h"

namespace assay::explore {
namespace {

using ::testing::ElementsAre;

class ReferenceRunTest : public ::testing::Test {
 protected:
  Result<std::vector<double>> Losses(const std::string& made_by) {
    return ReferenceLosses(reference_, made_by, [this](const job::Plan&) -> Result<job::RunRecord> {
      ++runs_;
      return testing::DoneRun(2);
    });
  }

  TemporaryDirectory directory_ = TemporaryDirectory::Create("reference").value();
  experiment::ReferenceRun reference_ = {.work = job::VitPlan(), .cache_dir = directory_.path(), .key = "model"};
  int runs_ = 0;
};

TEST_F(ReferenceRunTest, IsMadeOnceByTheSameProgramsAndAnewByOthers) {
  EXPECT_THAT(*Losses("commit 1, libtorch 2.13"), ElementsAre(3, 3));
  EXPECT_THAT(*Losses("commit 1, libtorch 2.13"), ElementsAre(3, 3));
  EXPECT_EQ(runs_, 1);
  EXPECT_THAT(*Losses("commit 1, libtorch 2.14"), ElementsAre(3, 3));
  EXPECT_EQ(runs_, 2);
}

}  // namespace
}  // namespace assay::explore
