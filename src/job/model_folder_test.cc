#include "job/model_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/files.h"

namespace assay::job {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ModelFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("model_folder_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
    Write("config.json");
  }
  void Write(const std::string& name) {
    const std::filesystem::path path = directory_->path() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << "x";
  }
  const std::string& dir() const { return directory_->path(); }

  std::optional<TemporaryDirectory> directory_;
};

TEST_F(ModelFolder, OnlyWhatHoldsNoWeightsHasRandomOnes) {
  Write("training_args.bin");
  Write("optimizer.pt");
  Write("tokenizer.json");
  Write("logs/events.out");
  EXPECT_EQ(*FindWeights(dir()), "");
}

TEST_F(ModelFolder, OneFileComesBeforeAnIndex) {
  Write("model.safetensors.index.json");
  EXPECT_EQ(*FindWeights(dir()), "model.safetensors.index.json");
  Write("model.safetensors");
  EXPECT_EQ(*FindWeights(dir()), "model.safetensors");
}

class UnusableWeights : public ModelFolder, public ::testing::WithParamInterface<const char*> {};

TEST_P(UnusableWeights, AreRefusedByName) {
  Write(GetParam());
  const auto found = FindWeights(dir());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(found.status().message(), AllOf(HasSubstr(dir()), HasSubstr(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Names, UnusableWeights,
                         ::testing::Values("model-00001-of-00003.safetensors", "pytorch_model.bin",
                                           "pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json",
                                           "consolidated.safetensors", "consolidated.00.pth", "weights.safetensors",
                                           "adapter_model.safetensors", "model.gguf", "tf_model.h5",
                                           "flax_model.msgpack", "original/consolidated.00.pth",
                                           "checkpoint-500/model.safetensors"));

TEST_F(ModelFolder, ALinkToNothingIsNoReasonForRandomWeights) {
  std::filesystem::create_symlink("../../blobs/missing", dir() + "/model.safetensors");
  EXPECT_FALSE(FindWeights(dir()).ok());
}

TEST_F(ModelFolder, WhatLooksLikeWeightsInAFolderWithinMayBeMovedAway) {
  Write("runs/state.pt");
  EXPECT_THAT(
      FindWeights(dir()).status().message(),
      AllOf(HasSubstr("holds runs/state.pt"), HasSubstr("move them elsewhere, and the model gets random weights")));
}

TEST_F(ModelFolder, TokenisersInOtherFormsAreSeen) {
  EXPECT_EQ(*FindOtherTokenizer(dir()), "");
  Write("qwen.tiktoken");
  EXPECT_EQ(*FindOtherTokenizer(dir()), "qwen.tiktoken");
  Write("merges.txt");
  EXPECT_EQ(*FindOtherTokenizer(dir()), "merges.txt");
}

TEST(ModelFolderErrors, AFolderThatIsNotThereIsOneLine) {
  EXPECT_THAT(FindWeights("/nonexistent/model").status().message(), HasSubstr("/nonexistent/model"));
}

}  // namespace
}  // namespace assay::job
