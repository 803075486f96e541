#include "experiment/model_hash.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/files.h"

namespace assay::experiment {
namespace {

class ModelHashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("hash");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
    ASSERT_TRUE(MakeDirectories(Model()).ok());
    Write("config.json", "{}");
    Write("model.safetensors", "weights");
  }

  std::string Model() const { return directory_->path() + "/model"; }
  std::string Cache() const { return directory_->path() + "/cache"; }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(Model() + "/" + name, text).ok());
  }
  std::string Hash() { return HashModel(Model(), Cache()).value(); }

  std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(ModelHashTest, ChangesWithWhatDefinesTheModelOnly) {
  const std::string first = Hash();
  EXPECT_EQ(first.size(), 64U);
  Write("README.md", "text");
  EXPECT_EQ(Hash(), first);
  Write("model.safetensors", "other weights");
  const std::string second = Hash();
  EXPECT_NE(second, first);
  Write("model.safetensors.index.json", "{}");
  EXPECT_NE(Hash(), second);
}

TEST_F(ModelHashTest, IsTheSameWithoutTheCache) {
  const std::string cold = Hash();
  EXPECT_EQ(Hash(), cold);
  std::filesystem::remove_all(Cache());
  EXPECT_EQ(Hash(), cold);
}

TEST_F(ModelHashTest, TakesTheHashOfAnUnchangedFileFromTheCache) {
  const std::string cold = Hash();
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(Cache() + "/hashes")) {
    ++entries;
    ASSERT_TRUE(WriteFileAtomically(entry.path(), R"({"sha256": "remembered"})").ok());
  }
  EXPECT_EQ(entries, 2);
  EXPECT_NE(Hash(), cold);
}

TEST_F(ModelHashTest, DoesNotTrustADamagedCache) {
  const std::string cold = Hash();
  for (const auto& entry : std::filesystem::directory_iterator(Cache() + "/hashes")) {
    ASSERT_TRUE(WriteFileAtomically(entry.path(), "{").ok());
  }
  EXPECT_EQ(Hash(), cold);
}

TEST_F(ModelHashTest, AMissingFolderIsAnError) {
  EXPECT_EQ(HashModel(directory_->path() + "/none", Cache()).status().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace assay::experiment
