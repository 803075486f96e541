#include "report/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay::report {
namespace {

TEST(ReadableTest, ThreeDigitsOrWholeNumbers) {
  EXPECT_EQ(Readable(0), "0");
  EXPECT_EQ(Readable(0.012345), "0.0123");
  EXPECT_EQ(Readable(0.26), "0.260");
  EXPECT_EQ(Readable(4.567), "4.57");
  EXPECT_EQ(Readable(9.999), "10.0");
  EXPECT_EQ(Readable(61.34), "61.3");
  EXPECT_EQ(Readable(613.4), "613");
  EXPECT_EQ(Readable(999.7), "1,000");
  EXPECT_EQ(Readable(-1234567), "-1,234,567");
  EXPECT_EQ(Readable(3e-7), "3.00e-07");
  EXPECT_EQ(Readable(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(CountTest, KnowsThePlural) {
  EXPECT_EQ(Count(1, "run"), "1 run");
  EXPECT_EQ(Count(0, "run"), "0 runs");
  EXPECT_EQ(Count(12000, "step"), "12,000 steps");
}

TEST(EllipsizeMiddleTest, KeepsBothEndsAndWholeCharacters) {
  EXPECT_EQ(EllipsizeMiddle("smollm2-135m", 12), "smollm2-135m");
  EXPECT_EQ(EllipsizeMiddle("smollm2-135m", 7), "smo\u202635m");
  EXPECT_EQ(EllipsizeMiddle("\u00e4\u00f6\u00fc\u00df\u00e9", 3), "\u00e4\u2026\u00e9");
}

TEST(ShortenTest, TakesTheFirstLine) {
  EXPECT_EQ(Shorten("one\ntwo", 20), "one");
  EXPECT_EQ(Shorten("abcdef", 4), "abc\u2026");
}

}  // namespace
}  // namespace assay::report
