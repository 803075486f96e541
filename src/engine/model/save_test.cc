#include "engine/model/save.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "engine/model/status_error.h"
#include "engine/model/weights.h"

namespace assay::engine {
namespace {

constexpr int64_t kBytesOfTensor = 4 * sizeof(float);

class SaveTest : public ::testing::Test {
 protected:
  const std::string& dir() const { return folder_.path(); }
  std::string file(const std::string& name) const { return dir() + "/" + name; }

  /// Two tensors of one value, in one file or in two.
  void save(float value, int64_t files) const {
    save_checkpoint({.parameters = {{"a", at::full({4}, value)}, {"b", at::full({4}, value)}},
                     .config_json = "{}",
                     .architecture = "Any",
                     .source_dir = "",
                     .side_files = {},
                     .max_shard_bytes = files == 1 ? 2 * kBytesOfTensor : kBytesOfTensor},
                    dir());
  }

  /// A file of this name can neither be written nor removed.
  void obstruct(const std::string& name) const {
    std::filesystem::remove(file(name));
    std::filesystem::create_directories(file(name) + "/in the way");
  }

  float stored(const std::string& name) const {
    return Weights::open(dir())->take({.name = name, .shape = {4}}, at::kFloat, at::kCPU)[0].item<float>();
  }

  TemporaryDirectory folder_ = value_or_throw(TemporaryDirectory::Create("save"));
};

TEST_F(SaveTest, ASaveReplacesOneOfAnotherNumberOfFiles) {
  float value = 0;
  for (const int64_t files : {1, 2, 2, 1, 1, 2}) {
    save(++value, files);
    EXPECT_EQ(stored("a"), value);
    EXPECT_EQ(stored("b"), value);
  }
}

TEST_F(SaveTest, ASaveThatCannotBeWrittenLeavesTheEarlierOne) {
  save(1, 1);
  obstruct("model-00002-of-00002.safetensors");
  EXPECT_THROW(save(2, 2), StatusError);
  EXPECT_EQ(stored("a"), 1);
  EXPECT_TRUE(FileExists(file("config.json")));
  EXPECT_FALSE(FileExists(file("model-00001-of-00002.safetensors")));
}

TEST_F(SaveTest, ASaveThatFailsHalfwayLeavesNoMixtureThatCanBeRead) {
  for (const int64_t files_before : {1, 2}) {
    save(1, files_before);
    obstruct("model-00003-of-00003.safetensors");
    EXPECT_THROW(save(2, 2), StatusError);
    EXPECT_THROW(Weights::open(dir()), StatusError) << files_before << " files before";
    EXPECT_FALSE(FileExists(file("config.json")));
    std::filesystem::remove_all(file("model-00003-of-00003.safetensors"));
  }
}

TEST_F(SaveTest, OldWeightsThatCannotBeRemovedAreAnError) {
  obstruct("model-00003-of-00003.safetensors");
  EXPECT_THROW(save(1, 1), StatusError);
  EXPECT_FALSE(FileExists(file("config.json")));
}

}  // namespace
}  // namespace assay::engine
