#include "report/scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::report {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::Pointwise;

TEST(NiceTicksTest, AreRoundAndCoverTheRange) {
  EXPECT_THAT(NiceTicks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(NiceTicks(0, 1234, 5), ElementsAre(0, 200, 400, 600, 800, 1000, 1200));
  EXPECT_THAT(NiceTicks(-1.3, 1.2, 5), ElementsAre(-1, -0.5, 0, 0.5, 1));
}

TEST(NiceTicksTest, HandleTinyAndEmptyRanges) {
  EXPECT_THAT(NiceTicks(0, 3e-7, 3), Pointwise(::testing::DoubleNear(1e-15), {0.0, 1e-7, 2e-7, 3e-7}));
  EXPECT_THAT(NiceTicks(5, 5, 4), ElementsAre(5));
}

TEST(NiceTicksTest, NumberOfTicksStaysNearTheTarget) {
  for (double high = 0.001; high < 1e7; high *= 1.37) {
    const size_t count = NiceTicks(0, high, 5).size();
    EXPECT_GE(count, 4u) << high;
    EXPECT_LE(count, 9u) << high;
  }
}

TEST(NiceRangeTest, EndsAtTicks) {
  EXPECT_THAT(NiceRange(0, 947, 5), Pair(DoubleEq(0), DoubleEq(1000)));
  EXPECT_THAT(NiceRange(0.13, 0.37, 5), Pair(::testing::DoubleNear(0.1, 1e-12), ::testing::DoubleNear(0.4, 1e-12)));
  const auto [low, high] = NiceRange(7, 7, 5);
  EXPECT_LT(low, 7);
  EXPECT_GT(high, 7);
}

TEST(TickLabelsTest, HaveTheDecimalsThatTheStepNeeds) {
  EXPECT_THAT(TickLabels({0, 0.5, 1}), ElementsAre("0.0", "0.5", "1.0"));
  EXPECT_THAT(TickLabels({0, 20, 40}), ElementsAre("0", "20", "40"));
  EXPECT_THAT(TickLabels({0, 1000, 2000}), ElementsAre("0", "1,000", "2,000"));
}

TEST(LinearScaleTest, MapsAndClamps) {
  const LinearScale scale(0, 10, 100, 0);
  EXPECT_EQ(scale(0), 100);
  EXPECT_EQ(scale(2.5), 75);
  EXPECT_EQ(scale(99), 0);
  EXPECT_EQ(LinearScale(3, 3, 0, 10)(3), 5) << "no width: the middle";
}

TEST(SpreadOutTest, KeepsTheGapAndTheBounds) {
  EXPECT_THAT(SpreadOut({10, 50, 90}, 10, 0, 100), ElementsAre(10, 50, 90)) << "nothing to do";
  EXPECT_THAT(SpreadOut({50, 50, 52}, 10, 0, 100), ElementsAre(50, 60, 70));
  EXPECT_THAT(SpreadOut({98, 99}, 10, 0, 100), ElementsAre(90, 100));
}

}  // namespace
}  // namespace assay::report
