#include "report/thin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace assay::report {
namespace {

TEST(ThinTest, KeepsTheOrderAndEveryPeak) {
  std::vector<double> x(10000);
  std::vector<double> y(10000, 1);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i);
  }
  y[1234] = 99;
  y[7777] = -99;
  const auto points = Thin(x, y, 200);
  EXPECT_LE(points.size(), 200u);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
  EXPECT_THAT(points, ::testing::Contains(std::pair(1234.0, 99.0)));
  EXPECT_THAT(points, ::testing::Contains(std::pair(7777.0, -99.0)));
}

TEST(ThinTest, ShortCurvesStayWithTheirHoles) {
  const std::vector<double> x = {0, 1, 2};
  EXPECT_THAT(
      Thin(x, std::vector<double>{5, INFINITY, 7}, 100),
      ::testing::ElementsAre(::testing::Pair(0, 5), ::testing::Pair(1, ::testing::IsNan()), ::testing::Pair(2, 7)));
  EXPECT_THAT(Thin(std::vector<double>{0, std::nan(""), 2}, x, 100), ::testing::SizeIs(2));
  EXPECT_TRUE(Thin({}, {}, 10).empty());
}

TEST(ThinTest, AHoleOfALongCurveStays) {
  std::vector<double> x(1000);
  std::vector<double> y(1000, 1);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i);
    y[i] = i >= 300 && i < 500 ? std::nan("") : 1;
  }
  y[299] = 5;
  const auto points = Thin(x, y, 100);
  EXPECT_LE(points.size(), 101u);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &std::pair<double, double>::first));
  EXPECT_THAT(points, ::testing::Contains(std::pair(299.0, 5.0)));
  const auto holes = std::ranges::count_if(points, [](const auto& point) { return std::isnan(point.second); });
  EXPECT_EQ(holes, 10);
}

TEST(RunningMeanTest, IsCentredAndShorterAtTheEnds) {
  EXPECT_THAT(RunningMean(std::vector<double>{1, 2, 3, 4}, 3), ::testing::ElementsAre(1.5, 2, 3, 3.5));
}

TEST(RunningMeanTest, LeavesHolesOut) {
  const double hole = std::nan("");
  EXPECT_THAT(RunningMean(std::vector<double>{hole, 2, 4, hole, hole, hole}, 3),
              ::testing::ElementsAre(2, 3, 3, 4, ::testing::IsNan(), ::testing::IsNan()));
}

}  // namespace
}  // namespace assay::report
