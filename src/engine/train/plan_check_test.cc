#include "engine/train/plan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace assay::engine {
namespace {

using testing::HasSubstr;

job::TunePlan valid_plan() {
  job::TunePlan plan;
  plan.model_dir = "/models/tiny";
  plan.tokens_file = "/data/rows.tok";
  return plan;
}

TEST(PlanCheck, DefaultsAreFine) {
  const Status status = check_plan(valid_plan());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(PlanCheck, NamesTheFieldThatMakesNoSense) {
  job::TunePlan plan = valid_plan();
  plan.batch_size = 0;
  EXPECT_EQ(check_plan(plan).message(), "batch_size is 0: it must be 1 or more");
  plan = valid_plan();
  plan.weight_decay = -0.5;
  EXPECT_EQ(check_plan(plan).message(), "weight_decay is -0.5: it must be 0 or more");
  plan = valid_plan();
  plan.method = "prefix";
  EXPECT_EQ(check_plan(plan).message(), "method is 'prefix': it must be 'full' or 'lora' or 'prompt'");
  plan = valid_plan();
  plan.model_dir.clear();
  EXPECT_THAT(check_plan(plan).message(), HasSubstr("model_dir"));
}

TEST(PlanCheck, TheOutputFolderIsMadeBeforeTraining) {
  const auto folder = TemporaryDirectory::Create("plan_check_test");
  ASSERT_TRUE(folder.ok());
  job::TunePlan plan = valid_plan();
  plan.save = "final";
  EXPECT_THAT(check_plan(plan).message(), HasSubstr("output_dir"));
  plan.output_dir = folder->path() + "/deep/out";
  EXPECT_TRUE(check_plan(plan).ok());
  EXPECT_TRUE(IsDirectory(plan.output_dir));
}

TEST(PlanCheck, RanksMustSuitThePlugin) {
  job::TunePlan plan = valid_plan();
  plan.number_ranks = 3;
  EXPECT_TRUE(check_plan(plan).ok());
  plan.plugin = "FULL_SHART";
  EXPECT_THAT(check_plan(plan).message(), HasSubstr("did you mean 'FULL_SHARD'"));
}

}  // namespace
}  // namespace assay::engine
