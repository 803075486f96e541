#include "data/file_hash.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"

namespace assay::data {
namespace {

class FileHashTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("file_hash");
    ASSERT_TRUE(directory.ok());
    directory_ = std::make_unique<TemporaryDirectory>(*std::move(directory));
  }

  std::string Path(const std::string& name) const { return directory_->path() + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }
  std::string Hash(const std::string& name) { return HashFile(Path(name), Path("cache")).value(); }
  /// Every hash that is kept is told from one that is computed from here on.
  void MarkKept() {
    for (const auto& entry : std::filesystem::directory_iterator(Path("cache/hashes"))) {
      ASSERT_TRUE(WriteFileAtomically(entry.path(), R"({"sha256": "kept"})").ok());
    }
  }

  std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(FileHashTest, IsThatOfTheBytesAndKept) {
  Write("weights", "weights");
  EXPECT_EQ(Hash("weights"), Sha256Hex("weights"));
  MarkKept();
  EXPECT_EQ(Hash("weights"), "kept");
}

TEST_F(FileHashTest, OtherBytesOfTheSameSizeAndTimeHaveAnotherHash) {
  Write("weights", "weights");
  const auto modified = std::filesystem::last_write_time(Path("weights"));
  Hash("weights");
  Write("weights", "WEIGHTS");
  std::filesystem::last_write_time(Path("weights"), modified);
  EXPECT_EQ(Hash("weights"), Sha256Hex("WEIGHTS"));
}

// The time of change alone tells, which cannot be set. It counts in the kernel's ticks, so that a change must meet one.
TEST_F(FileHashTest, BytesWrittenInPlaceAreReadAnewThoughTheirTimeIsSetBack) {
  Write("weights", "weights");
  const auto modified = std::filesystem::last_write_time(Path("weights"));
  Hash("weights");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::ofstream(Path("weights"), std::ios::in | std::ios::out) << "WEIGHTS";
  std::filesystem::last_write_time(Path("weights"), modified);
  ASSERT_EQ(std::filesystem::last_write_time(Path("weights")), modified);
  EXPECT_EQ(Hash("weights"), Sha256Hex("WEIGHTS"));
}

TEST_F(FileHashTest, AnotherFileWithTheSameBytesHasTheSameHash) {
  Write("a", "weights");
  Write("b", "weights");
  EXPECT_EQ(Hash("a"), Hash("b"));
}

TEST_F(FileHashTest, AFileThatIsNotThereIsAnError) {
  const Status status = HashFile(Path("none"), Path("cache")).status();
  EXPECT_EQ(status.code(), ErrorCode::kNotFound);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("none"));
}

}  // namespace
}  // namespace assay::data
