#include "base/text.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

TEST(TextTest, SplitsJoinsTrims) {
  EXPECT_THAT(Split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("a,", ','), ElementsAre("a", ""));
  EXPECT_THAT(Split("a", ','), ElementsAre("a"));
  EXPECT_THAT(Split("", ','), IsEmpty());
  EXPECT_EQ(Join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(Join({}, ", "), "");
  EXPECT_EQ(Trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

TEST(ParseBytesTest, KnowsBinaryAndDecimalSuffixes) {
  EXPECT_EQ(*ParseBytes("4GiB"), int64_t{4} << 30);
  EXPECT_EQ(*ParseBytes("512MB"), 512'000'000);
  EXPECT_EQ(*ParseBytes(" 1.5 gib "), 1'610'612'736);
  EXPECT_EQ(*ParseBytes("1073741824"), 1'073'741'824);
  EXPECT_EQ(*ParseBytes("2Ki"), 2048);
  EXPECT_EQ(*ParseBytes("3k"), 3000);
  EXPECT_EQ(*ParseBytes("10 B"), 10);
  EXPECT_EQ(*ParseBytes("0"), 0);
}

TEST(ParseSecondsTest, ReadsUnitsAndRefusesOthers) {
  EXPECT_DOUBLE_EQ(*ParseSeconds("20ms"), 0.02);
  EXPECT_DOUBLE_EQ(*ParseSeconds(" 1.5 s "), 1.5);
  EXPECT_DOUBLE_EQ(*ParseSeconds("300us"), 3e-4);
  for (const char* text : {"", "20", "ms", "-1s", "1h", "inf s", "1s 2"}) {
    EXPECT_EQ(ParseSeconds(text).status().code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(ParseBytesTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GiB", "-1", "4 gigs", "4GiB5", "nan", "inf", "1e30", "9223372036854775808"}) {
    EXPECT_EQ(ParseBytes(text).status().code(), ErrorCode::kInvalidArgument) << text;
  }
}

TEST(FormatTest, Bytes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(1'610'612'736), "1.50 GiB");
  EXPECT_EQ(FormatBytes(150.0 * 1048576), "150 MiB");
  EXPECT_EQ(FormatBytes(1048575), "1.00 MiB");
  EXPECT_EQ(FormatBytes(-2048), "-2.00 KiB");
}

TEST(FormatTest, Seconds) {
  EXPECT_EQ(FormatSeconds(0), "0.00 s");
  EXPECT_EQ(FormatSeconds(0.0123), "12.3 ms");
  EXPECT_EQ(FormatSeconds(4.5e-6), "4.50 us");
  EXPECT_EQ(FormatSeconds(0.99999), "1.00 s");
  EXPECT_EQ(FormatSeconds(3.21), "3.21 s");
  EXPECT_EQ(FormatSeconds(59.97), "1m00s");
  EXPECT_EQ(FormatSeconds(75.3), "1m15s");
  EXPECT_EQ(FormatSeconds(3720), "1h02m");
  EXPECT_EQ(FormatSeconds(-75.3), "-1m15s");
  EXPECT_EQ(FormatSeconds(std::numeric_limits<double>::infinity()), "inf s");
}

TEST(FormatTest, Numbers) {
  EXPECT_EQ(FormatCount(999999), "999999");
  EXPECT_EQ(FormatCount(134515008), "134.5 M");
  EXPECT_EQ(FormatCount(405853388800), "405.9 B");
  EXPECT_EQ(FormatNumber(0), "0");
  EXPECT_EQ(FormatNumber(0.5), "0.5");
  EXPECT_EQ(FormatNumber(3.14159), "3.142");
  EXPECT_EQ(FormatNumber(-12.345), "-12.35");
  EXPECT_EQ(FormatNumber(123456.7), "123457");
  EXPECT_EQ(FormatNumber(100), "100");
  EXPECT_EQ(FormatNumber(0.000123456), "0.0001235");
  EXPECT_EQ(FormatNumber(1.5e-7), "1.5e-07");
  EXPECT_EQ(FormatNumber(1e9), "1e+09");
  EXPECT_EQ(FormatNumber(std::nan("")), "nan");
}

TEST(TextTest, TimestampsAndUids) {
  EXPECT_THAT(UtcTimestamp(), MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"));
  const double now = MonotonicSeconds();
  EXPECT_LE(now, MonotonicSeconds());
  std::set<std::string> uids;
  for (int i = 0; i < 100; ++i) {
    const std::string uid = RandomUid();
    EXPECT_THAT(uid, MatchesRegex("[0-9a-f]+"));
    EXPECT_EQ(uid.size(), 32);
    uids.insert(uid);
  }
  EXPECT_EQ(uids.size(), 100);
}

}  // namespace
}  // namespace assay
