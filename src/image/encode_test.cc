#include "image/encode.h"

#include <gmock/gmock.h>

#include "image/decode.h"

namespace assay::image {
namespace {

TEST(EncodePng, LosesNothing) {
  Image image{.width = 3, .height = 2, .rgb = {}};
  for (int i = 0; i < 18; ++i) {
    image.rgb.push_back(static_cast<uint8_t>(i * 14));
  }
  const std::string file = *EncodePng(image);
  const Image decoded = *DecodeImage(std::as_bytes(std::span(file)));
  EXPECT_EQ(decoded.width, 3);
  EXPECT_EQ(decoded.rgb, image.rgb);
}

}  // namespace
}  // namespace assay::image
