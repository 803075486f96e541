#include "job/connector_plan.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "job/plan.h"

namespace assay::job {
namespace {

using ::testing::HasSubstr;

ConnectorPlan Plan() {
  ConnectorPlan plan;
  plan.connector = "streaming";
  plan.uri = "s3://bucket/here";
  plan.rows_file = "/rows.jsonl";
  plan.compression = "zstd:7";
  plan.max_steps = 12;
  plan.save_every = 4;
  plan.lora.rank = 8;
  return plan;
}

TEST(ConnectorPlanTest, SurvivesJson) {
  const Result<job::Plan> read = PlanFromJson(ToJson(job::Plan(Plan())));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const auto& plan = std::get<ConnectorPlan>(*read);
  EXPECT_EQ(ToJson(plan), ToJson(Plan()));
  EXPECT_EQ(plan.lora.rank, 8);
  EXPECT_EQ(TrainingOf(*read).max_steps, 12);
  nlohmann::json strange = ToJson(Plan());
  strange["worker"] = 3;
  EXPECT_THAT(PlanFromJson(strange).status().message(), HasSubstr("did you mean 'workers'?"));
  strange = ToJson(Plan());
  strange.erase("fine_tune");
  EXPECT_THAT(PlanFromJson(strange).status().message(), HasSubstr("'fine_tune' is missing"));
}

TEST(ConnectorPlanTest, SaysWhatCannotBe) {
  EXPECT_TRUE(CheckConnectorPlan(Plan()).ok());
  const auto refusal = [](auto change) {
    ConnectorPlan plan = Plan();
    change(plan);
    return CheckConnectorPlan(plan).message();
  };
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.uri += "/"; }), HasSubstr("uri must name"));
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.compression.clear(); }), HasSubstr("second step"));
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.number_ranks = 2; }), HasSubstr("of one rank"));
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.max_steps = 7; }), HasSubstr("two of them at least"));
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.workers = 0; }), HasSubstr("1 or more"));
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.convert_workers = 0; }), HasSubstr("1 or more"));
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.step = "resume"; }), HasSubstr("the test's folder"));
  EXPECT_THAT(refusal([](ConnectorPlan& plan) { plan.step = plan.work_dir = "count"; }), HasSubstr("step must be"));
  EXPECT_EQ(refusal([](ConnectorPlan& plan) { plan.step = plan.work_dir = "resume"; }), "");
}

}  // namespace
}  // namespace assay::job
