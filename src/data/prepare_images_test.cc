#include "data/prepare_images.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/files.h"
#include "data/image_file.h"
#include "data/image_source.h"

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

const std::string kImagesShare = ASSAY_SOURCE_DIR "/share";
const std::string kSheet = kImagesShare + "/digits/digits.png";

class PrepareImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("prepare_images_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
    spec_ = {.data = Path("data"), .width = 6, .height = 4, .share_dir = kImagesShare, .cache_dir = Path("cache")};
  }
  std::string Path(const std::string& name) const { return directory_->path() + "/" + name; }

  /// A real PNG at data/NAME.
  void Put(const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(Path("data/" + name)).parent_path());
    std::filesystem::copy_file(kSheet, Path("data/" + name));
  }
  void PutText(const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(Path("data/" + name)).parent_path());
    std::ofstream(Path("data/" + name)) << "no image";
  }
  std::string Error() const {
    const auto prepared = PrepareImages(spec_);
    EXPECT_FALSE(prepared.ok());
    EXPECT_THAT(prepared.status().message(), Not(HasSubstr("\n")));
    return prepared.status().message();
  }

  std::optional<TemporaryDirectory> directory_;
  ImageSpec spec_;
};

TEST_F(PrepareImagesTest, DigitsAreReadyWithoutANetwork) {
  spec_.data = kDigitsId;
  spec_.width = spec_.height = 32;
  const auto prepared = PrepareImages(spec_);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared->train.images, 1442);
  EXPECT_EQ(prepared->eval.images, 355);
  EXPECT_THAT(prepared->classes, SizeIs(10));
  const auto file = ImageFile::Open(prepared->eval.file);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->width(), 32);
  for (int32_t digit = 0; digit < 10; ++digit) {
    EXPECT_GE(std::ranges::count(file->labels(), digit), 34) << digit;
  }
  EXPECT_TRUE(PrepareImages(spec_)->train.cached);
}

TEST_F(PrepareImagesTest, ClassesAreSortedFolders) {
  for (const char* name : {"train/dog/b.png", "train/cat/deep/a.PNG", "train/cat/.hidden.png", "test/dog/c.png"}) {
    Put(name);
  }
  PutText("train/dog/notes.txt");
  const auto prepared = PrepareImages(spec_);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_THAT(prepared->classes, ElementsAre("cat", "dog"));
  const auto train = ImageFile::Open(prepared->train.file);
  EXPECT_THAT(train->labels(), ElementsAre(0, 1));
  EXPECT_EQ(train->planes(0).size(), 6u * 4 * 3);
  EXPECT_THAT(ImageFile::Open(prepared->eval.file)->labels(), ElementsAre(1));
}

TEST_F(PrepareImagesTest, AFolderOfClassesIsAllToTrainOn) {
  Put("a/1.png");
  const auto prepared = PrepareImages(spec_);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  EXPECT_EQ(prepared->train.images, 1);
  EXPECT_EQ(prepared->eval.file, "");
}

TEST_F(PrepareImagesTest, ACorruptImageIsNamedAndLeftOutWhenAsked) {
  Put("a/1.png");
  PutText("a/2.jpg");
  EXPECT_THAT(Error(), AllOf(HasSubstr("a/2.jpg"), HasSubstr("neither a JPEG nor a PNG"), HasSubstr("--skip-corrupt")));
  spec_.skip_corrupt = true;
  for (const bool cached : {false, true}) {
    const auto prepared = PrepareImages(spec_);
    ASSERT_TRUE(prepared.ok()) << prepared.status().message();
    EXPECT_EQ(prepared->train.images, 1);
    EXPECT_EQ(prepared->train.skipped, 1);
    EXPECT_EQ(prepared->train.cached, cached);
    EXPECT_THAT(prepared->train.reasons, SizeIs(cached ? 0 : 1));
    EXPECT_THAT(prepared->train.reasons, Each(HasSubstr("a/2.jpg")));
  }
  spec_.skip_corrupt = false;
  EXPECT_THAT(Error(), HasSubstr("a/2.jpg"));
}

TEST_F(PrepareImagesTest, ContentSizeAndClassesDecideTheFile) {
  Put("a/1.png");
  const std::string first = PrepareImages(spec_)->train.file;
  EXPECT_EQ(PrepareImages(spec_)->train.file, first);
  spec_.width = 7;
  EXPECT_NE(PrepareImages(spec_)->train.file, first);
  spec_.width = 6;
  std::filesystem::rename(Path("data/a"), Path("data/b"));
  EXPECT_NE(PrepareImages(spec_)->train.file, first);
  Put("b/2.png");
  EXPECT_EQ(PrepareImages(spec_)->train.images, 2);
}

TEST_F(PrepareImagesTest, ADamagedFileIsMadeAgain) {
  Put("a/1.png");
  const std::string file = PrepareImages(spec_)->train.file;
  std::filesystem::resize_file(file, 70);
  const auto again = PrepareImages(spec_);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_FALSE(again->train.cached);
  EXPECT_EQ(again->train.images, 1);
}

TEST_F(PrepareImagesTest, BadFoldersAreOneLine) {
  EXPECT_THAT(Error(), HasSubstr("there is no folder"));
  std::filesystem::create_directories(Path("data/a"));
  EXPECT_THAT(Error(), HasSubstr("has no images"));
  std::filesystem::remove(Path("data/a"));
  Put("train/a/1.png");
  Put("validation/b/1.png");
  EXPECT_THAT(Error(), AllOf(HasSubstr("validation"), HasSubstr("'b'")));
  spec_.data = "";
  EXPECT_THAT(Error(), HasSubstr("no data set is given"));
  spec_.data = kDigitsId;
  spec_.width = 0;
  EXPECT_THAT(Error(), HasSubstr("0 x 4 pixels"));
}

TEST_F(PrepareImagesTest, APipeThatIsCalledLikeAnImageIsNotWaitedFor) {
  Put("a/1.png");
  ASSERT_EQ(::mkfifo(Path("data/a/p.png").c_str(), 0600), 0);
  EXPECT_THAT(Error(), HasSubstr("/data/a/p.png is no file that can be read as an image: remove it"));
}

TEST_F(PrepareImagesTest, NothingLeftIsAnError) {
  PutText("a/1.png");
  spec_.skip_corrupt = true;
  EXPECT_THAT(Error(), AllOf(HasSubstr("none of the 1 images"), HasSubstr("a/1.png")));
}

}  // namespace
}  // namespace assay::data
