#include "report/result_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/testing/synthetic.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;
using ::testing::Contains;
using testing::DemoSpace;
using ::testing::ElementsAre;
using testing::MakeFailed;
using testing::MakeValid;
using ::testing::Pair;

TEST(ResultSetTest, TellsWhatVariesFromWhatDoesNot) {
  const std::vector<Measurement> measurements = DemoSpace();
  const ResultSet results(measurements);
  EXPECT_THAT(results.varying(), ElementsAre("method", "model_max_length", "batch_size"));
  EXPECT_THAT(results.constants(), Contains(Pair("model_name", "smollm2-135m")));
  EXPECT_THAT(results.constants(), Contains(Pair("parameters", "stop_after_seconds.14")));
}

TEST(ResultSetTest, OrdersNumbersByValueWhateverTheOrderOfArrival) {
  std::vector<Measurement> measurements;
  for (int64_t batch : {16, 2, 128}) {
    measurements.push_back(MakeValid({.batch_size = batch}));
  }
  const ResultSet results(measurements);
  std::vector<std::string> labels;
  for (const Configuration& configuration : results.configurations()) {
    labels.push_back(results.Label(configuration));
  }
  EXPECT_THAT(labels, ElementsAre("batch size 2", "batch size 16", "batch size 128"));
}

TEST(ResultSetTest, RepeatsAreOneConfigurationThatIsValidIfAnyRunIs) {
  std::vector<Measurement> measurements = {MakeFailed({.seed = 1}, "killed"), MakeValid({.seed = 2})};
  const ResultSet results(measurements);
  ASSERT_EQ(results.configurations().size(), 1u);
  const Configuration& only = results.configurations().front();
  EXPECT_EQ(only.runs.size(), 2u);
  EXPECT_EQ(only.outcome, Outcome::kValid);
  EXPECT_EQ(only.reason(), "");
  EXPECT_EQ(results.Label(only), "smollm2-135m, lora, max length 256, batch size 4");
}

TEST(ResultSetTest, WhatMerelyFollowsTheMethodIsNoDimension) {
  std::vector<Measurement> measurements = {MakeValid({.method = "full"}), MakeValid({.method = "lora"})};
  measurements[1].entity["r"] = int64_t{8};
  measurements[1].parameterized_id += "-lora_alpha.32";
  const ResultSet results(measurements);
  EXPECT_THAT(results.varying(), ElementsAre("method"));
  EXPECT_THAT(results.constants(), Contains(Pair("r (lora)", "8")));
  EXPECT_THAT(results.constants(), Contains(Pair("parameters (lora)", "stop_after_seconds.14-lora_alpha.32")));
}

TEST(ResultSetTest, PathsAreCutToWhatTellsThemApart) {
  std::vector<Measurement> measurements = {MakeValid({.model = "/models/a/tiny/"}),
                                           MakeValid({.model = "/models/small"})};
  measurements[0].entity_id = "tiny";
  measurements[1].entity_id = "other";
  const ResultSet different(measurements);
  EXPECT_THAT(different.ValuesOf("model_name"), ElementsAre(space::Value("small"), space::Value("tiny")));
  measurements[1].entity["model_name"] = "/models/b/tiny";
  const ResultSet alike(measurements);
  EXPECT_THAT(alike.ValuesOf("model_name"),
              ElementsAre(space::Value("/models/a/tiny/"), space::Value("/models/b/tiny")));
}

TEST(ResultSetTest, NothingMakesAnEmptySet) {
  const ResultSet results({});
  EXPECT_TRUE(results.configurations().empty());
  EXPECT_TRUE(results.varying().empty());
  EXPECT_TRUE(results.constants().empty());
}

TEST(MethodNameTest, IsMadeFromTheExperiment) {
  EXPECT_EQ(MethodName("finetune_full_benchmark-v1.0.0"), "full");
  EXPECT_EQ(MethodName("finetune_gtpq-lora_benchmark-v1.0.0"), "gtpq-lora");
  EXPECT_EQ(MethodName("finetune_full_stability-v1.0.0"), "full_stability");
  EXPECT_EQ(MethodName("checkpoint_single_benchmark-v1.0.0"), "checkpoint_single_benchmark-v1.0.0");
}

TEST(ValueLessTest, OrdersAcrossTypes) {
  using space::Value;
  EXPECT_TRUE(ValueLess(Value(), Value(false)));
  EXPECT_TRUE(ValueLess(Value(int64_t{2}), Value(2.5)));
  EXPECT_FALSE(ValueLess(Value(int64_t{10}), Value(int64_t{9})));
  EXPECT_TRUE(ValueLess(Value(1e9), Value(std::string("a"))));
}

}  // namespace
}  // namespace assay::report
