#include "report/cost_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace assay::report {
namespace {

using ::testing::ElementsAre;

CostLine LineOf(size_t sizes) {
  CostLine line{.label = "gemini", .sizes = sizes, .smallest_batch = 8, .largest_batch = 2048};
  line.step_seconds.intercept = 0.02;
  line.step_seconds.slope = 0.001;
  line.step_seconds.r_squared = 0.99987;
  line.step_seconds.intercept_interval = {0.015, 0.025};
  line.step_seconds.slope_interval = {-INFINITY, INFINITY};
  return line;
}

TEST(CostTableTest, ALineIsARowOfTexts) {
  EXPECT_THAT(CellsOf(LineOf(3)),
              ElementsAre("8 to 2,048", "20.0 \u00b1 5.00", "1.00", "1,000", "0.9999", "\u2013", "\u2013"));
}

TEST(CostTableTest, OfTwoPointsNoFitIsTold) {
  EXPECT_EQ(CellsOf(LineOf(2))[4], "two points");
}

TEST(CostTableTest, ACrossingIsASentence) {
  const CostLine line = LineOf(3);
  CostLine other = line;
  other.label = "torch_ddp";
  EXPECT_EQ(TextOf({&line, &other, 11.2}), "From batch size 12 on, gemini is faster than torch_ddp.");
}

}  // namespace
}  // namespace assay::report
