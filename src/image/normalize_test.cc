#include "image/normalize.h"

#include <gmock/gmock.h>

#include <vector>

namespace assay::image {
namespace {

using ::testing::ElementsAre;

TEST(NormalizerTest, ScalesEachPlaneByItsChannel) {
  const Normalizer normalizer({0.5, 0.0, 0.25}, {0.5, 1.0, 0.25});
  const std::vector<uint8_t> planes = {0, 255, 0, 255, 0, 255};
  std::vector<float> floats(6);
  normalizer.ToFloat(planes.data(), 2, floats.data());
  EXPECT_THAT(floats, ElementsAre(-1.0f, 1.0f, 0.0f, 1.0f, -1.0f, 3.0f));
}

TEST(NormalizerTest, RoundsToBfloat16TiesToEven) {
  // 1 + 1/256 lies between two bfloat16 and goes to the even one, 1; 1 + 3/256 goes to 1 + 4/256.
  const Normalizer normalizer({-1.0 / 256, -3.0 / 256, 0}, {1, 1, 1});
  const std::vector<uint8_t> planes = {255, 255, 255};
  std::vector<uint16_t> bits(3);
  normalizer.ToBfloat16(planes.data(), 1, bits.data());
  EXPECT_THAT(bits, ElementsAre(0x3f80, 0x3f82, 0x3f80));
}

}  // namespace
}  // namespace assay::image
