#include "experiment/point.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "experiment/catalogue.h"
#include "experiment/testing.h"
#include "space/discovery_space.h"

namespace assay::experiment {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kFull;
using testing::kLora;
using ::testing::StartsWith;

const Experiment& Full() {
  return **FindExperiment(kFull);
}

std::string BindError(const std::map<std::string, std::string>& texts) {
  const auto point = BindPoint(Full(), texts);
  return point.ok() ? "no error" : point.status().message();
}

Result<BoundSpace> Bind(const std::string& text) {
  return BoundSpace::Bind(space::ParseDiscoverySpace(text, "space.yaml").value());
}

std::string SpaceError(const std::string& text) {
  const auto space = Bind(text);
  return space.ok() ? "no error" : space.status().message();
}

constexpr char kHead[] =
    "entitySpace:\n"
    " - {identifier: model_name, propertyDomain: {values: [smollm2-135m]}}\n"
    " - {identifier: number_gpus, propertyDomain: {values: [0]}}\n"
    " - {identifier: batch_size, propertyDomain: {domainRange: [1,3], interval: 1}}\n";
constexpr char kLength[] = " - {identifier: model_max_length, propertyDomain: {values: [512, 1024]}}\n";
constexpr char kExperiments[] = "experiments:\n - experimentIdentifier: finetune_full_benchmark-v1.0.0\n";

TEST(PointTest, KeepsParametersAsAMap) {
  const std::string path = "/data/x-r.8/rows.jsonl";
  const auto point = BindPoint(Full(), {{"model_name", "smollm2-135m"},
                                        {"model_max_length", "512"},
                                        {"batch_size", "4"},
                                        {"number_gpus", "0"},
                                        {"dataset_id", path},
                                        {"flash_attn", "True"},
                                        {"stop_after_seconds", "2.5"}});
  ASSERT_TRUE(point.ok()) << point.status().message();
  EXPECT_EQ(point->parameters, (space::Entity{{"dataset_id", path}, {"stop_after_seconds", 2.5}}));
  EXPECT_EQ(point->parameterized_id, ParameterizedId(Full(), point->parameters));
}

TEST(PointTest, BindsWhatACommandLineGives) {
  const auto point = BindPoint(Full(), {{"model_name", "smollm2-135m"},
                                        {"model_max_length", "512"},
                                        {"batch_size", "4"},
                                        {"number_gpus", "0"},
                                        {"stop_after_seconds", "30"},
                                        {"flash_attn", "0"}});
  ASSERT_TRUE(point.ok()) << point.status().message();
  EXPECT_EQ(point->entity_id, "batch_size.4-model_max_length.512-model_name.smollm2-135m-number_gpus.0");
  EXPECT_EQ(point->parameterized_id, "finetune_full_benchmark-v1.0.0-flash_attn.False-stop_after_seconds.30");
  EXPECT_EQ(point->complete.at("torch_dtype"), space::Value(std::string("bfloat16")));
  EXPECT_EQ(point->complete.at("flash_attn"), space::Value(false));
  EXPECT_EQ(point->complete.size(), Full().properties().size());
}

TEST(PointTest, ParametersAtTheirDefaultAreNoOverride) {
  EXPECT_EQ(ParameterizedId(Full(), {{"optim", std::string("adamw_torch")}}), kFull);
  EXPECT_EQ(ParameterizedId(Full(), {{"stop_after_seconds", int64_t{5}}, {"bf16", true}}),
            "finetune_full_benchmark-v1.0.0-bf16.True-stop_after_seconds.5");
}

TEST(PointTest, SaysWhatIsWrongWithAPoint) {
  EXPECT_EQ(BindError({{"model_name", "m"}}),
            "finetune_full_benchmark-v1.0.0 needs a value for model_max_length, batch_size, number_gpus (see assay "
            "experiments finetune_full_benchmark-v1.0.0)");
  EXPECT_THAT(BindError({{"batchsize", "1"}}), HasSubstr("did you mean 'batch_size'?"));
  EXPECT_EQ(BindError({{"batch_size", "5000"}}), "batch_size: 5000 is not in [1, 4097) step 1");
  EXPECT_THAT(BindError({{"batch_size", "four"}}), StartsWith("batch_size: 'four' is not in"));
}

TEST(PointTest, AnOptionalInTheEntityIsConstitutive) {
  const space::Entity base = {{"model_name", std::string("m")},
                              {"model_max_length", int64_t{1}},
                              {"batch_size", int64_t{1}},
                              {"number_gpus", int64_t{0}}};
  space::Entity entity = base;
  entity["gradient_checkpointing"] = false;
  const auto point = BindPoint(Full(), entity, {});
  ASSERT_TRUE(point.ok());
  EXPECT_THAT(point->entity_id, HasSubstr("gradient_checkpointing.False"));
  EXPECT_EQ(point->parameterized_id, kFull);
  // The entity goes before the parameterization, that before the default.
  const auto both = BindPoint(Full(), entity, {{"gradient_checkpointing", true}, {"seed", int64_t{7}}});
  EXPECT_EQ(both->complete.at("gradient_checkpointing"), space::Value(false));
  EXPECT_EQ(both->complete.at("seed"), space::Value(int64_t{7}));
}

TEST(PointTest, ExistingPathsBecomeAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  const Experiment& full = Full();
  EXPECT_EQ(*CanonicalValue(full, "model_name", std::string("./")), space::Value(here));
  EXPECT_EQ(*CanonicalValue(full, "model_name", here + "/"), space::Value(here));
  EXPECT_EQ(*CanonicalValue(full, "model_name", std::string("smollm2-135m")),
            space::Value(std::string("smollm2-135m")));
  EXPECT_EQ(*CanonicalValue(full, "model_name", std::string("org/no-such-model")),
            space::Value(std::string("org/no-such-model")));
  EXPECT_EQ(*CanonicalValue(full, "optim", std::string("sgd")), space::Value(std::string("sgd")));
}

TEST(BoundSpaceTest, EnumeratesPointsTimesExperiments) {
  const auto space = Bind(std::string(kHead) + kLength + kExperiments +
                          " - experimentIdentifier: finetune_lora_benchmark-v1.0.0\n"
                          "   parameterization: [{property: {identifier: r}, value: 8}]\n");
  ASSERT_TRUE(space.ok()) << space.status().message();
  ASSERT_EQ(space->size(), 8);
  EXPECT_EQ(space->At(0).parameterized_id, kFull);
  EXPECT_EQ(space->At(1).parameterized_id, "finetune_lora_benchmark-v1.0.0-r.8");
  EXPECT_EQ(space->At(0).entity_id, space->At(1).entity_id);
  EXPECT_EQ(space->At(2).entity.at("model_max_length"), space::Value(int64_t{1024}));
  EXPECT_EQ(space->At(1).complete.at("r"), space::Value(int64_t{8}));
}

TEST(BoundSpaceTest, RefusesMorePointsThanANumberHolds) {
  const std::string all =
      "entitySpace:\n"
      " - {identifier: model_name, propertyDomain: {values: [smollm2-135m]}}\n"
      " - {identifier: number_gpus, propertyDomain: {values: [0]}}\n"
      " - {identifier: model_max_length, propertyDomain: {domainRange: [1, 131073], interval: 1}}\n"
      " - {identifier: batch_size, propertyDomain: {domainRange: [1, 4097], interval: 1}}\n"
      " - {identifier: gradient_accumulation_steps, propertyDomain: {domainRange: [1, 33], interval: 1}}\n"
      " - {identifier: max_steps, propertyDomain: {domainRange: [1, 8193], interval: 1}}\n"
      " - {identifier: num_train_epochs, propertyDomain: {domainRange: [1, 8193], interval: 1}}\n"
      " - {identifier: gradient_checkpointing, propertyDomain: {values: [True, False]}}\n"
      " - {identifier: torch_dtype, propertyDomain: {values: [bfloat16, float32]}}\n";
  const auto space = Bind(all + kExperiments);
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->size(), int64_t{1} << 62);
  EXPECT_EQ(SpaceError(all + kExperiments + " - experimentIdentifier: finetune_lora_benchmark-v1.0.0\n"),
            "space.yaml: the space has 2^63 points or more");
}

TEST(BoundSpaceTest, FindsWhereAPointStands) {
  const auto space =
      Bind(std::string(kHead) + kLength + " - {identifier: dataset_id, propertyDomain: {values: [./]}}\n" +
           " - {identifier: seed, propertyDomain: {domainRange: [10, 20], interval: 5}}\n" + kExperiments +
           " - experimentIdentifier: finetune_lora_benchmark-v1.0.0\n");
  ASSERT_TRUE(space.ok()) << space.status().message();
  for (int64_t index = 0; index < space->size(); ++index) {
    const BoundPoint point = space->At(index);
    EXPECT_EQ(space->IndexOf(point.parameterized_id, point.entity), index) << point.entity_id;
  }
  BoundPoint other = space->At(0);
  EXPECT_EQ(space->IndexOf("finetune_lora_benchmark-v1.0.0-r.8", other.entity), std::nullopt);
  other.entity["seed"] = int64_t{12};
  EXPECT_EQ(space->IndexOf(other.parameterized_id, other.entity), std::nullopt);
  other.entity.erase("seed");
  EXPECT_EQ(space->IndexOf(other.parameterized_id, other.entity), std::nullopt);
}

TEST(BoundSpaceTest, NamesTheLineOfEachMistake) {
  EXPECT_THAT(SpaceError(std::string(kHead) + kLength + "experiments: [{experimentIdentifier: finetune_full}]\n"),
              AllOf(StartsWith("space.yaml:6: there is no experiment"), HasSubstr("assay experiments")));
  EXPECT_THAT(
      SpaceError(std::string(kHead) + " - {identifier: batchsize, propertyDomain: {values: [1]}}\n" + kExperiments),
      AllOf(StartsWith("space.yaml:5: "), HasSubstr("did you mean 'batch_size'?")));
  EXPECT_EQ(SpaceError(std::string(kHead) + " - {identifier: model_max_length, propertyDomain: {values: [0, 512]}}\n" +
                       kExperiments),
            "space.yaml:5: model_max_length: 0 is not in [1, 131073) step 1");
  EXPECT_THAT(SpaceError(std::string(kHead) + kExperiments), HasSubstr("needs a value for model_max_length"));
  EXPECT_THAT(SpaceError(std::string(kHead) + kLength + kExperiments +
                         "   parameterization:\n   - {property: {identifier: optm}, value: sgd}\n"),
              AllOf(StartsWith("space.yaml:9: "), HasSubstr("did you mean 'optim'?")));
  EXPECT_THAT(SpaceError(std::string(kHead) + kLength + kExperiments +
                         "   parameterization:\n   - {property: {identifier: optim}, value: sgdd}\n"),
              StartsWith("space.yaml:9: optim: 'sgdd' is not in"));
}

TEST(BoundSpaceTest, RefusesAnExperimentThatStandsTwice) {
  const std::string again =
      " - experimentIdentifier: finetune_full_benchmark-v1.0.0\n"
      "   parameterization: [{property: {identifier: optim}, value: adamw_torch}]\n";
  EXPECT_THAT(SpaceError(std::string(kHead) + kLength + kExperiments + again), HasSubstr("stands in this space twice"));
}

TEST(BoundSpaceTest, BindsTheProjectsOwnSpaces) {
  const auto space = ReadBoundSpace(ASSAY_SOURCE_DIR "/share/demo/space.yaml");
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->size(), 8);
}

}  // namespace
}  // namespace assay::experiment
