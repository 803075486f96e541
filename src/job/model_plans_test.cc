#include "job/model_plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "job/plan.h"

namespace assay::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelPlans, AreReadBackAsTheirKind) {
  GeneratePlan plan;
  plan.model_dir = "m";
  plan.sample.prompt_ids = {1, 2};
  plan.sample.top_p = 0.5;
  plan.sample.cache = false;
  const Result<Plan> read = PlanFromJson(ToJson(Plan(plan)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const auto& generate = std::get<GeneratePlan>(*read);
  EXPECT_EQ(generate.model_dir, "m");
  EXPECT_THAT(generate.sample.prompt_ids, ElementsAre(1, 2));
  EXPECT_EQ(generate.sample.top_p, 0.5);
  EXPECT_FALSE(generate.sample.cache);

  MergePlan merge;
  merge.lora.adapter_dir = "a";
  EXPECT_EQ(std::get<MergePlan>(*PlanFromJson(ToJson(Plan(merge)))).lora.adapter_dir, "a");
}

TEST(ModelPlans, RefuseUnknownKeys) {
  nlohmann::json json = ToJson(Plan(GeneratePlan()));
  json["sample"]["temperatur_"] = 1;
  EXPECT_THAT(PlanFromJson(json).status().message(), HasSubstr("'temperatur_' (did you mean 'temperature'?)"));
}

TEST(TextSample, IsRefusedWhereNoTextCanBeMade) {
  TextSample sample;
  EXPECT_THAT(CheckSample(sample).message(), HasSubstr("no prompt"));
  sample.prompt_ids = {1};
  EXPECT_TRUE(CheckSample(sample).ok());
  sample.top_p = 0;
  EXPECT_THAT(CheckSample(sample).message(), HasSubstr("top_p"));
}

}  // namespace
}  // namespace assay::job
