#include "image/decode.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "image/decoders.h"

namespace assay::image {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// 8 x 8 pixels of grey 77, at quality 30.
constexpr std::string_view kGreyJpeg =
    "ffd8ffe000104a46494600010100000100010000ffdb0043001b12141714111b1716171e1c1b2028422b28252528513a3d3042605565645f55"
    "5d"
    "5b6a7899816a7190735b5d85b586909ea3abadab6780bcc9baa6c799a8aba4ffc0000b080008000801011100ffc40014000100000000000000"
    "00"
    "0000000000000004ffc40014100100000000000000000000000000000000ffda0008010100003f0003ffd9";
// 2 x 2 pixels: red, (1, 2, 3), (9, 8, 7), blue.
constexpr std::string_view kColourPng =
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001649444154789c63f8cfc0c0c8c4ccc0c9c1cec0f0"
    "1f"
    "000eae021dce124d210000000049454e44ae426082";

std::vector<std::byte> Bytes(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

TEST(DecodeImageTest, ReadsPng) {
  const auto image = DecodeImage(Bytes(kColourPng));
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->width, 2);
  EXPECT_EQ(image->height, 2);
  EXPECT_THAT(image->rgb, ElementsAre(255, 0, 0, 1, 2, 3, 9, 8, 7, 0, 0, 255));
}

TEST(DecodeImageTest, ReadsGreyJpegAsColours) {
  const auto image = DecodeImage(Bytes(kGreyJpeg));
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->width, 8);
  EXPECT_EQ(image->rgb.size(), 8u * 8 * 3);
  EXPECT_THAT(image->rgb, Each(77));
}

TEST(DecodeImageTest, RefusesEveryTruncation) {
  for (const std::string_view hex : {kGreyJpeg, kColourPng}) {
    const auto whole = Bytes(hex);
    // The last bytes are the end marker or chunk; a decoder may have all pixels before it.
    for (size_t size = 0; size + 2 <= whole.size() - (hex == kColourPng ? 12 : 2); ++size) {
      const auto image = DecodeImage(std::span(whole).first(size));
      ASSERT_FALSE(image.ok()) << size;
      EXPECT_THAT(image.status().message(), Not(HasSubstr("\n")));
    }
  }
}

TEST(DecodeImageTest, SaysWhatIsWrong) {
  auto png = Bytes(kColourPng);
  png[20] ^= std::byte{1};
  EXPECT_THAT(DecodeImage(png).status().message(), HasSubstr("corrupt or truncated PNG file (IHDR: CRC error)"));
  auto jpeg = Bytes(kGreyJpeg);
  jpeg.resize(jpeg.size() - 4);
  EXPECT_THAT(DecodeImage(jpeg).status().message(),
              HasSubstr("corrupt or truncated JPEG file (Premature end of JPEG file)"));
  EXPECT_EQ(DecodeImage({}).status().message(), "it is empty");
  EXPECT_EQ(DecodeImage(Bytes("4749463839")).status().message(), "it is neither a JPEG nor a PNG file");
}

TEST(DecodeImageTest, RefusesSizesThatNobodyMeans) {
  EXPECT_TRUE(CheckSize(13377, 13377, kMaxPixels).ok());
  EXPECT_THAT(CheckSize(1 << 20, 1 << 20, kMaxPixels).message(), HasSubstr("1048576 x 1048576 pixels"));
}

TEST(ReadImageTest, NamesTheFile) {
  auto directory = TemporaryDirectory::Create("decode_test");
  ASSERT_TRUE(directory.ok());
  const std::string path = directory->path() + "/a.png";
  std::ofstream(path) << "no image";
  EXPECT_THAT(ReadImage(path).status().message(), AllOf(HasSubstr(path), HasSubstr("neither a JPEG nor a PNG")));
  EXPECT_THAT(ReadImage(path + "x").status().message(), HasSubstr(path + "x"));
}

TEST(ToPlanesTest, SeparatesTheChannels) {
  const Image image{.width = 2, .height = 1, .rgb = {1, 2, 3, 4, 5, 6}};
  std::vector<uint8_t> planes(6);
  ToPlanes(image, planes.data());
  EXPECT_THAT(planes, ElementsAre(1, 4, 2, 5, 3, 6));
}

}  // namespace
}  // namespace assay::image
