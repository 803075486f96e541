#include "explore/operation/operation_file.h"

#include <gmock/gmock.h>

#include <string>

namespace assay::explore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<OperationFile> Parse(const std::string& parameters, const std::string& module = "{operatorName: random_walk}") {
  return ParseOperationFile("spaces: [space-1]\noperation:\n  module: " + module + "\n  parameters: " + parameters,
                            "w");
}

/// plugins/actuators/vllm_performance/yamls/random_walk_operation_grouped.yaml of ado, shortened.
constexpr const char* kGrouped = R"(
spaces:
  - space-230d24-03b22d
actuatorConfigurationIdentifiers:
  - actuatorconfiguration-vllm_performance-09fcdf30
operation:
  module:
    moduleClass: RandomWalk
  parameters:
    numberEntities: all
    batchSize: 2
    singleMeasurement: false
    samplerConfig:
      mode: 'sequentialgrouped'
      samplerType: 'generator'
      grouping:
        - model
        - image
)";

TEST(OperationFileTest, HasAllThatAFileOfAdoSays) {
  const OperationFile file = ParseOperationFile(kGrouped, "walk.yaml").value();
  EXPECT_THAT(file.spaces, ElementsAre("space-230d24-03b22d"));
  EXPECT_THAT(file.actuator_configurations, ElementsAre("actuatorconfiguration-vllm_performance-09fcdf30"));
  EXPECT_EQ(file.walk.entities, -1);
  EXPECT_EQ(file.walk.batch_size, 2);
  EXPECT_FALSE(file.walk.single_measurement);
  EXPECT_FALSE(file.walk.random);
  EXPECT_FALSE(file.walk.from_store);
  EXPECT_THAT(file.walk.grouped_by, ElementsAre("model", "image"));
}

TEST(OperationFileTest, WhatIsNotSaidIsAsInAdo) {
  const RandomWalk walk = Parse("{}").value().walk;
  EXPECT_EQ(walk.entities, 1);
  EXPECT_EQ(walk.batch_size, 1);
  EXPECT_TRUE(walk.random);
  EXPECT_TRUE(walk.from_store);
  EXPECT_THAT(walk.grouped_by, IsEmpty());
  EXPECT_TRUE(walk.single_measurement);
  EXPECT_EQ(walk.max_retries, 0);
  EXPECT_EQ(walk.filter, EntityFilter::kNone);
}

TEST(OperationFileTest, TheOlderFormHasTheSamplerAmongTheParameters) {
  const RandomWalk walk = Parse("{numberEntities: 200, mode: 'sequential', maxRetries: 2}").value().walk;
  EXPECT_EQ(walk.entities, 200);
  EXPECT_FALSE(walk.random);
  EXPECT_EQ(walk.max_retries, 2);
}

TEST(OperationFileTest, FiltersHaveTheirNames) {
  EXPECT_EQ(Parse("{filter: {filterMode: unmeasured}}")->walk.filter, EntityFilter::kUnmeasured);
  EXPECT_EQ(Parse("{filter: {filterMode: partial}}")->walk.filter, EntityFilter::kPartial);
  EXPECT_EQ(Parse("{filter: {filterMode: measured}}")->walk.filter, EntityFilter::kMeasured);
  EXPECT_EQ(Parse("{filter: {filterMode: noFilter}}")->walk.filter, EntityFilter::kNone);
}

TEST(OperationFileTest, AMistakeIsOneLineWithItsPlace) {
  const auto error = [](const Result<OperationFile>& result) { return result.status().message(); };
  EXPECT_THAT(error(Parse("{batchsize: 2}")), HasSubstr("w:4: unknown key 'batchsize' (did you mean 'batchSize'?)"));
  EXPECT_THAT(error(Parse("{numberEntities: 0}")),
              HasSubstr("w:4: 'numberEntities' must be a whole number of at least 1, or all"));
  EXPECT_THAT(error(Parse("{numberEntities: 2, batchSize: 3}")),
              HasSubstr("'batchSize' 3 is more than 'numberEntities'"));
  EXPECT_THAT(error(Parse("{singleMeasurement: 1}")), HasSubstr("'singleMeasurement' must be true or false"));
  EXPECT_THAT(error(Parse("{samplerConfig: {mode: randomgrouped}}")), HasSubstr("needs 'grouping'"));
  EXPECT_THAT(error(Parse("{samplerConfig: {mode: greedy}}")),
              HasSubstr("mode 'greedy' is none of random, sequential, randomgrouped, sequentialgrouped"));
  EXPECT_THAT(error(Parse("{samplerConfig: {module: {moduleClass: Own}}}")), HasSubstr("class of Python"));
  EXPECT_THAT(error(Parse("{mode: random, samplerConfig: {}}")), HasSubstr("'mode' stands beside 'samplerConfig'"));
  const std::string characterization = "{operatorName: characterization}";
  EXPECT_THAT(error(Parse("{repeats: 0}", characterization)),
              HasSubstr("'repeats' must be a whole number of at least"));
  EXPECT_THAT(error(Parse("{repeats: 4294967297}", characterization)),
              HasSubstr("w:4: 'repeats' must be at most 1000"));
  EXPECT_THAT(error(Parse("{}", "{operatorName: rifferla}")), HasSubstr("operator 'rifferla' is not run here"));
  EXPECT_THAT(error(Parse("{}", "{operatorName: ray_tune}")), HasSubstr("--sampler model"));
}

TEST(OperationFileTest, AFileOfAnotherKindIsSaidToBeThat) {
  const auto error = [](const char* text) { return ParseOperationFile(text, "f.yaml").status().message(); };
  EXPECT_THAT(error("entitySpace: []\nexperiments: []"),
              HasSubstr("f.yaml:1: this is a discovery space, not an operation"));
  EXPECT_THAT(error("specification: {}"), HasSubstr("this is a sample store, not an operation"));
  EXPECT_THAT(error("project: p\nmetadataStore: {}"), HasSubstr("this is a context, not an operation"));
  EXPECT_THAT(error("entity: {}\nexperiments: []"), HasSubstr("this is a point, not an operation"));
  EXPECT_THAT(error("actuatorIdentifier: SFTTrainer\nparameters: {}"),
              HasSubstr("this is an actuator configuration, not an operation"));
}

}  // namespace
}  // namespace assay::explore
