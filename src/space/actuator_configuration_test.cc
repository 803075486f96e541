#include "space/actuator_configuration.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/files.h"

namespace assay::space {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kOfAdo[] = R"(actuatorIdentifier: SFTTrainer
parameters:
  match_exact_dependencies: false
  output_dir: output
  data_directory: /data/artificial-dataset/
  aim_db: null
  hf_home: ~/huggingface
  num_tokens_cache_directory: cache
  model_map:
    granite-3.1-2b: { Vanilla: ibm-granite/granite-3.1-2b-base, QPTQ-Quantized: /models/gptq }
    tiny: models/tiny
metadata: { name: here }
)";

TEST(ActuatorConfigurationTest, HasWhatCountsHereAndSaysWhatDoesNot) {
  const auto read = ParseActuatorConfiguration(kOfAdo, "ac.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->data_directory, "/data/artificial-dataset/");
  EXPECT_EQ(read->hf_home, std::string(std::getenv("HOME")) + "/huggingface");
  EXPECT_EQ(read->models.at("granite-3.1-2b"), "ibm-granite/granite-3.1-2b-base");
  EXPECT_EQ(read->models.at("tiny"), "models/tiny");
  ASSERT_THAT(read->idle, SizeIs(4)) << "an aim_db of null asks for nothing";
  EXPECT_EQ(read->idle[0],
            "ac.yaml:3: match_exact_dependencies does not count here: no packages are installed for a run");
  EXPECT_THAT(read->idle[3], HasSubstr("'QPTQ-Quantized' of granite-3.1-2b does not count here"));
}

TEST(ActuatorConfigurationTest, IsReadAsAdoPrintsItToo) {
  const auto read = ParseActuatorConfiguration(
      "config:\n  actuatorIdentifier: SFTTrainer\n  parameters: {data_directory: data}\n"
      "identifier: actuatorconfiguration-sfttrainer-1\nkind: actuatorconfiguration\n",
      "/there/ac.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->data_directory, "/there/data");
}

TEST(ActuatorConfigurationTest, FindsModelsByFolder) {
  const auto directory = TemporaryDirectory::Create("actuator").value();
  const std::string& folder = directory.path();
  ASSERT_TRUE(MakeDirectories(folder + "/tiny").ok());
  const auto read = ParseActuatorConfiguration(
      "actuatorIdentifier: SFTTrainer\nparameters: {model_map: {a: tiny, b: {Vanilla: org/name}}}",
      folder + "/ac.yaml");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(ModelFolderOf(*read, read->models.at("a")), folder + "/tiny");
  EXPECT_EQ(ModelFolderOf(*read, read->models.at("b")), "");
}

TEST(ActuatorConfigurationTest, AMistakeIsOneLineWithItsPlace) {
  const auto error = [](const char* text) { return ParseActuatorConfiguration(text, "f").status().message(); };
  EXPECT_THAT(error("actuatorIdentifier: robotic_lab\nparameters: {}"),
              HasSubstr("f:1: the experiments of actuator 'robotic_lab' are not here, those of SFTTrainer are"));
  EXPECT_THAT(error("actuatorIdentifier: SFTTrainer\nparameters: {data_dir: x}"), HasSubstr("did you mean"));
  EXPECT_THAT(error("actuatorIdentifier: SFTTrainer\nparameters: {model_map: [x]}"), HasSubstr("f:2: 'model_map'"));
  EXPECT_THAT(error("entitySpace: []\nexperiments: []"),
              HasSubstr("this is a discovery space, not an actuator configuration"));
}

}  // namespace
}  // namespace assay::space
