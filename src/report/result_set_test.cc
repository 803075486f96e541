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

Measurement On(std::string host, std::string commit, Measurement run = MakeValid({})) {
  run.provenance["host"] = std::move(host);
  run.provenance["commit"] = std::move(commit);
  return run;
}

TEST(ResultSetTest, MachinesAreNeverTakenTogether) {
  const std::vector<Measurement> measurements = {On("server", "a1"), On("laptop", "a1"), On("server", "a1")};
  const ResultSet results(measurements);
  ASSERT_EQ(results.configurations().size(), 2u);
  EXPECT_EQ(results.CountOfPoints(), 1u);
  EXPECT_THAT(results.varying(), ElementsAre("host"));
  EXPECT_EQ(results.Label(results.configurations()[0]), "host laptop");
  EXPECT_EQ(results.configurations()[0].runs.size(), 1u);
  EXPECT_EQ(results.configurations()[1].runs.size(), 2u);
}

TEST(ResultSetTest, CommitsAndContentsAreNeverTakenTogether) {
  std::vector<Measurement> measurements = {On("server", "a1"), On("server", "b2"), On("server", "b2")};
  measurements[2].provenance["data_hash"] = "0123456789abcdef0123";
  const ResultSet results(measurements);
  EXPECT_EQ(results.configurations().size(), 3u);
  EXPECT_THAT(results.varying(), ElementsAre("commit", "data_hash"));
  EXPECT_THAT(results.ValuesOf("data_hash"), Contains(space::Value("0123456789ab"))) << "a hash is cut";
}

TEST(ResultSetTest, WhatFollowsFromAModelsNameTellsNothingApart) {
  std::vector<Measurement> measurements = {MakeValid({.model = "a"}), MakeValid({.model = "b"})};
  measurements[1].provenance["model_hash"] = "another";
  measurements[1].provenance["tokenizer_hash"] = "another";
  EXPECT_THAT(ResultSet(measurements).varying(), ElementsAre("model_name"));
  measurements.push_back(MakeValid({.model = "b"}));
  EXPECT_THAT(ResultSet(measurements).varying(), ElementsAre("model_name", "model_hash")) << "b was edited";
}

TEST(ResultSetTest, ARunThatNeverStartedJoinsThoseThatDid) {
  std::vector<Measurement> measurements = {On("server", "a1", MakeFailed({}, "no such file")), On("server", "a1"),
                                           On("server", "b2")};
  measurements[1].provenance["libtorch"] = "2.12.0";
  measurements[0].provenance.erase("libtorch");
  const ResultSet results(measurements);
  EXPECT_EQ(results.configurations().size(), 2u);
  EXPECT_EQ(results.CountOf(Outcome::kFailed), 0u) << "it was run again";
}

TEST(ResultSetTest, SaysWhetherWeightsWereRandom) {
  std::vector<Measurement> measurements = {MakeValid({}), MakeValid({.batch_size = 8})};
  EXPECT_THAT(ResultSet(measurements).constants(), Contains(Pair("weights", "random")));
  measurements[1].provenance["weights"] = "file";
  EXPECT_THAT(ResultSet(measurements).varying(), ElementsAre("batch_size", "weights"));
}

TEST(ResultSetTest, SaysWhichTokenizersWereUsed) {
  std::vector<Measurement> measurements = {MakeValid({}), MakeValid({.model = "other"})};
  EXPECT_THAT(ResultSet(measurements).constants(), Contains(Pair("tokenizer", "/share/tokenizers/assay-8k")));
  measurements[1].provenance["tokenizer"] = "/models/other";
  EXPECT_THAT(ResultSet(measurements).constants(),
              Contains(Pair("tokenizers", "/models/other; /share/tokenizers/assay-8k")));
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

TEST(MethodTest, IsWhatTheExperimentDeclares) {
  const std::vector<Measurement> measurements = {MakeValid({.method = "full"}), MakeValid({.method = "other"})};
  const ResultSet results(measurements);
  EXPECT_THAT(results.ValuesOf(kMethod), ElementsAre(space::Value(std::string("finetune_other_benchmark-v1.0.0")),
                                                     space::Value(std::string("full"))))
      << "what no experiment declares stands under its identifier";
  EXPECT_EQ(results.declared().BaselineOf(kMethod), space::Value(std::string("full")));
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
