#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/files.h"
#include "experiment/point.h"

namespace assay::experiment {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SpacePaths : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("space_paths_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
    std::filesystem::create_directories(dir() + "/spaces/data");
    std::ofstream(dir() + "/spaces/space.yaml") << R"(entitySpace:
- {identifier: model_name, propertyDomain: {values: [smollm2-135m, models/own]}}
- {identifier: batch_size, propertyDomain: {values: [4]}}
- {identifier: model_max_length, propertyDomain: {values: [512]}}
- {identifier: number_gpus, propertyDomain: {values: [0]}}
experiments:
- experimentIdentifier: finetune_full_benchmark-v1.0.0
  parameterization: [{property: {identifier: dataset_id}, value: data/rows.jsonl}]
)";
  }
  const std::string& dir() const { return directory_->path(); }
  Result<BoundSpace> Read() { return ReadBoundSpace(dir() + "/spaces/space.yaml"); }

  std::optional<TemporaryDirectory> directory_;
};

TEST_F(SpacePaths, BeginAtTheSpacesFolder) {
  std::ofstream(dir() + "/spaces/data/rows.jsonl") << "{}\n";
  std::filesystem::create_directories(dir() + "/spaces/models/own");
  const auto space = Read();
  ASSERT_TRUE(space.ok()) << space.status().message();
  EXPECT_EQ(space->At(0).complete.at("dataset_id"), space::Value(dir() + "/spaces/data/rows.jsonl"));
  EXPECT_EQ(space->At(0).complete.at("model_name"), space::Value(std::string("smollm2-135m")));
  EXPECT_EQ(space->At(1).complete.at("model_name"), space::Value(dir() + "/spaces/models/own"));
}

TEST_F(SpacePaths, ThatExistOnlyFromTheWorkingFolderAreAMistake) {
  std::filesystem::create_directories(dir() + "/data");
  std::ofstream(dir() + "/data/rows.jsonl") << "{}\n";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(dir());
  const Status status = Read().status();
  std::filesystem::current_path(before);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("space.yaml:8"), HasSubstr("data/rows.jsonl does not exist beside")));
}

}  // namespace
}  // namespace assay::experiment
