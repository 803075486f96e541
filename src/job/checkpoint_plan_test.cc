#include "job/checkpoint_plan.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "job/plan.h"

namespace assay::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckpointPlan Plan() {
  CheckpointPlan plan;
  plan.output_dir = "s3://bucket/run";
  plan.tensors = {"embed tokens.weight 64x32", "norm 32"};
  plan.client = "torch";
  plan.repeats = 7;
  plan.number_ranks = 2;
  return plan;
}

TEST(CheckpointPlanTest, SurvivesJson) {
  const Result<job::Plan> read = PlanFromJson(ToJson(Plan()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const auto& plan = std::get<CheckpointPlan>(*read);
  EXPECT_EQ(ToJson(plan), ToJson(Plan()));
  EXPECT_EQ(plan.repeats, 7);
  EXPECT_EQ(TrainingOf(*read).output_dir, "s3://bucket/run");
  nlohmann::json strange = ToJson(Plan());
  strange["repeat"] = 3;
  EXPECT_THAT(PlanFromJson(strange).status().message(), HasSubstr("did you mean 'repeats'?"));
}

TEST(CheckpointPlanTest, TensorsAreNamesAndSizes) {
  const PlannedTensor tensor = *ParsePlannedTensor("embed tokens.weight 64x32");
  EXPECT_EQ(tensor.name, "embed tokens.weight");
  EXPECT_THAT(tensor.shape, ElementsAre(64, 32));
  for (const char* text : {"", "w", "w 0", "w 3x", "w x3", "w 3.5", "w -3"}) {
    EXPECT_FALSE(ParsePlannedTensor(text).ok()) << text;
  }
}

TEST(CheckpointPlanTest, SaysWhatCannotBe) {
  EXPECT_TRUE(CheckCheckpointPlan(Plan()).ok());
  CheckpointPlan plan = Plan();
  plan.operation = "delete";
  EXPECT_EQ(CheckCheckpointPlan(plan).message(), "operation is 'delete': it must be one of save, load");
  plan = Plan();
  plan.tensors.clear();
  EXPECT_THAT(CheckCheckpointPlan(plan).message(), HasSubstr("nothing to save"));
  plan = Plan();
  plan.format = "ckpt";
  plan.layers = 2;
  EXPECT_THAT(CheckCheckpointPlan(plan).message(), HasSubstr("by one rank"));
  plan.number_ranks = 1;
  EXPECT_TRUE(CheckCheckpointPlan(plan).ok());
  plan.output_dir.clear();
  EXPECT_THAT(CheckCheckpointPlan(plan).message(), HasSubstr("output_dir is empty"));
}

}  // namespace
}  // namespace assay::job
