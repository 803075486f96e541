#include "image/resize.h"

#include <gmock/gmock.h>

namespace assay::image {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Image Grey(int64_t width, int64_t height, const std::vector<uint8_t>& values) {
  Image image{.width = width, .height = height, .rgb = {}};
  for (const uint8_t value : values) {
    image.rgb.insert(image.rgb.end(), {value, value, value});
  }
  return image;
}

std::vector<int> Reds(const Image& image) {
  std::vector<int> reds;
  for (size_t i = 0; i < image.rgb.size(); i += 3) {
    reds.push_back(image.rgb[i]);
    EXPECT_EQ(image.rgb[i], image.rgb[i + 2]);
  }
  return reds;
}

// Values of Pillow 13.0.0.
TEST(ResizeTest, EqualsPillowInBothDirections) {
  const Image ramp = Grey(4, 2, {0, 50, 100, 255, 10, 60, 110, 200});
  EXPECT_THAT(Reds(Resize(ramp, 2, 1)), ElementsAre(41, 150));
  EXPECT_THAT(Reds(Resize(ramp, 7, 2)), ElementsAre(0, 18, 46, 75, 111, 200, 255, 10, 28, 56, 85, 116, 168, 200));
  EXPECT_THAT(Reds(Resize(ramp, 3, 3)), ElementsAre(15, 75, 209, 20, 80, 191, 25, 85, 173));
}

TEST(ResizeTest, KeepsWhatIsOfThatSize) {
  const Image image = Grey(3, 1, {1, 2, 3});
  EXPECT_EQ(Resize(image, 3, 1).rgb, image.rgb);
}

TEST(ResizeTest, KeepsAColourExactly) {
  const Image white = Grey(5, 7, std::vector<uint8_t>(35, 255));
  EXPECT_THAT(Resize(white, 64, 3).rgb, Each(255));
  EXPECT_THAT(Resize(white, 1, 1).rgb, ElementsAre(255, 255, 255));
}

}  // namespace
}  // namespace assay::image
