#include "data/image_file.h"

#include <gmock/gmock.h>

#include <fstream>

namespace assay::data {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

class ImageFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("image_file_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
    path_ = directory_->path() + "/a.images";
  }

  /// Three images of 3 x 1 pixels.
  std::string WriteThree() {
    auto writer = ImageFileWriter::Create(path_, 3, 1, {"cat", "dog"});
    EXPECT_TRUE(writer.ok());
    for (uint8_t i = 0; i < 3; ++i) {
      const std::vector<uint8_t> planes(9, i);
      EXPECT_TRUE(writer->Append(planes, i % 2).ok());
    }
    EXPECT_TRUE(writer->Finish().ok());
    return *ReadFile(path_);
  }

  std::string ErrorOf(const std::string& content) {
    std::ofstream(path_, std::ios::binary) << content;
    const auto file = ImageFile::Open(path_);
    return file.ok() ? "" : file.status().message();
  }

  std::optional<TemporaryDirectory> directory_;
  std::string path_;
};

TEST_F(ImageFileTest, GivesBackWhatWasWritten) {
  WriteThree();
  const auto file = ImageFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->images(), 3);
  EXPECT_EQ(file->width(), 3);
  EXPECT_EQ(file->height(), 1);
  EXPECT_THAT(file->classes(), ElementsAre("cat", "dog"));
  EXPECT_THAT(file->labels(), ElementsAre(0, 1, 0));
  EXPECT_THAT(file->planes(2), ElementsAreArray(std::vector<uint8_t>(9, 2)));
}

TEST_F(ImageFileTest, EveryTruncationIsNoticed) {
  const std::string whole = WriteThree();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(ErrorOf(whole.substr(0, size)), "") << size;
  }
}

TEST_F(ImageFileTest, DamageIsNamed) {
  const std::string whole = WriteThree();
  EXPECT_THAT(ErrorOf("ASSAYTOK" + whole.substr(8)), HasSubstr("does not start with ASSAYIMG"));
  std::string damaged = whole;
  damaged[8] = 9;
  EXPECT_THAT(ErrorOf(damaged), HasSubstr("format version 9"));
  for (const size_t at : {size_t{16}, whole.size() - 32, whole.size() - 24, whole.size() - 9, size_t{64 + 32}}) {
    damaged = whole;
    damaged[at] = static_cast<char>(0x7f);
    EXPECT_THAT(ErrorOf(damaged), HasSubstr("truncated or damaged")) << at;
  }
}

TEST_F(ImageFileTest, NothingStandsThereBeforeItIsWhole) {
  {
    auto writer = ImageFileWriter::Create(path_, 1, 1, {"a"});
    ASSERT_TRUE(writer.ok());
    EXPECT_FALSE(writer->Append(std::vector<uint8_t>(3), 1).ok());
    EXPECT_FALSE(writer->Append(std::vector<uint8_t>(4), 0).ok());
    EXPECT_FALSE(writer->Finish().ok());
  }
  EXPECT_FALSE(FileExists(path_));
  EXPECT_FALSE(ImageFileWriter::Create(path_, 0, 1, {"a"}).ok());
  EXPECT_FALSE(ImageFileWriter::Create(path_, 1, 1, {"a\nb"}).ok());
}

}  // namespace
}  // namespace assay::data
