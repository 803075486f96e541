#include "engine/model/rope.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::engine {
namespace {

using architecture::RopeType;

ModelConfig config_of(RopeType type) {
  ModelConfig config;
  config.head_dim = 8;
  config.max_positions = 1000;
  config.rope = {.type = type, .theta = 100.0, .factor = 2.0, .original_max_positions = 500};
  return config;
}

TEST(RotaryCacheTest, HoldsTheAnglesOfEveryPosition) {
  RotaryCache cache(config_of(RopeType::kDefault), at::kCPU);
  const RotaryTable table = cache.table(10);
  ASSERT_EQ(table.cos_PD2.size(1), 4);
  for (const int64_t position : {0, 1, 9}) {
    for (const int64_t pair : {0, 3}) {
      const double angle = static_cast<double>(position) / std::pow(100.0, 2.0 * static_cast<double>(pair) / 8.0);
      EXPECT_NEAR(table.cos_PD2[position][pair].item<double>(), std::cos(angle), 1e-6);
      EXPECT_NEAR(table.sin_PD2[position][pair].item<double>(), std::sin(angle), 1e-6);
    }
  }
}

TEST(RotaryCacheTest, GrowsWithoutTouchingEarlierTables) {
  RotaryCache cache(config_of(RopeType::kDefault), at::kCPU);
  const RotaryTable small = cache.table(10);
  const RotaryTable large = cache.table(5000);
  EXPECT_GE(large.cos_PD2.size(0), 5000);
  EXPECT_LT(small.cos_PD2.size(0), 5000);
  EXPECT_TRUE(large.cos_PD2.narrow(0, 0, small.cos_PD2.size(0)).equal(small.cos_PD2));
  EXPECT_TRUE(cache.table(10).cos_PD2.is_same(large.cos_PD2));
}

TEST(RotaryCacheTest, LinearScalingStretchesPositions) {
  const at::Tensor plain = rotary_frequencies(config_of(RopeType::kDefault), 0).inverse_D2;
  EXPECT_TRUE(rotary_frequencies(config_of(RopeType::kLinear), 0).inverse_D2.equal(plain / 2.0));
}

TEST(RotaryCacheTest, DynamicScalingFollowsTheLongestRowAndFallsBack) {
  RotaryCache cache(config_of(RopeType::kDynamic), at::kCPU);
  const at::Tensor original = cache.table(1000).cos_PD2;
  const at::Tensor stretched = cache.table(1500).cos_PD2;
  EXPECT_FALSE(stretched.narrow(0, 0, 1000).equal(original.narrow(0, 0, 1000)));
  EXPECT_TRUE(cache.table(1200).cos_PD2.is_same(stretched));
  EXPECT_TRUE(cache.table(1000).cos_PD2.is_same(stretched));
  EXPECT_TRUE(cache.table(999).cos_PD2.narrow(0, 0, 512).equal(original.narrow(0, 0, 512)));
}

TEST(RotaryCacheTest, YarnScalesCosinesByTheAttentionFactor) {
  ModelConfig config = config_of(RopeType::kYarn);
  EXPECT_NEAR(rotary_frequencies(config, 0).attention_factor, 0.1 * std::log(2.0) + 1, 1e-12);
  config.rope.attention_factor = 1.25;
  RotaryCache cache(config, at::kCPU);
  EXPECT_FLOAT_EQ(cache.table(3).cos_PD2[0][0].item<float>(), 1.25f);
}

}  // namespace
}  // namespace assay::engine
