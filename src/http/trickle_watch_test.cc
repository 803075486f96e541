#include "http/trickle_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace assay::http {
namespace {

Received all;

bool Take(TrickleWatch& watch, std::string_view text, double now) {
  all.bytes += text.size();
  return watch.Take(std::as_bytes(std::span(text)), now);
}

/// When a body is given up of which `text` comes every second; 0: not within an hour.
int EndsAfter(TrickleWatch& watch, const std::string& text) {
  watch.Begin();
  for (int second = 0; second < 3600; ++second) {
    if (!Take(watch, text, 1000 + second)) {
      return second;
    }
  }
  return 0;
}

TEST(TrickleWatch, EndsWhatIsSlowerThanTheRateOverAWindow) {
  TrickleWatch watch(5, 1024, all);
  EXPECT_EQ(EndsAfter(watch, "ab"), 5);
  EXPECT_EQ(EndsAfter(watch, std::string(1000, 'x')), 10) << "a piece more came in the first window";
  EXPECT_EQ(EndsAfter(watch, std::string(500, 'x')), 5);
  EXPECT_EQ(EndsAfter(watch, std::string(2000, 'x')), 0);
}

TEST(TrickleWatch, JudgesEachWindowByItself) {
  TrickleWatch watch(5, 1024, all);
  watch.Begin();
  EXPECT_TRUE(Take(watch, std::string(1 << 20, 'x'), 100));
  EXPECT_TRUE(Take(watch, "x", 106)) << "fast so far";
  EXPECT_TRUE(Take(watch, "x", 110));
  EXPECT_FALSE(Take(watch, "x", 111)) << "what came at first does not count any more";
}

TEST(TrickleWatch, BlanksKeepAnAnswerAliveForAWhile) {
  TrickleWatch watch(5, 1024, all);
  EXPECT_EQ(EndsAfter(watch, " "), 900);
  watch.Begin();
  EXPECT_TRUE(Take(watch, "\r\n ", 100));
  EXPECT_TRUE(Take(watch, " ", 400));
  EXPECT_TRUE(Take(watch, "<", 700));
  EXPECT_TRUE(Take(watch, " ", 704));
  EXPECT_FALSE(Take(watch, " ", 705)) << "blanks within a body are its bytes";
}

/// When the first of `count` bodies is given up, of each of which `text` comes every second, and `first` of that one.
int EndsAmong(size_t count, const std::string& first, const std::string& text) {
  all.transfers = count;
  TrickleWatch watch(5, 1024, all);
  watch.Begin();
  int end = 0;
  for (int second = 0; second < 60 && end == 0; ++second) {
    all.bytes += (count - 1) * text.size();
    end = Take(watch, first, 1000 + second) ? 0 : second;
  }
  all.transfers = 1;
  return end;
}

TEST(TrickleWatch, ManyShareASlowLine) {
  const std::string slow(100, 'x');
  EXPECT_EQ(EndsAmong(1, slow, ""), 5);
  EXPECT_EQ(EndsAmong(32, slow, slow), 0) << "3 KiB a second come in all";
  EXPECT_EQ(EndsAmong(32, "ab", "ab"), 5) << "all trickle";
  EXPECT_EQ(EndsAmong(32, "ab", slow), 5) << "one trickles among others";
}

TEST(TrickleWatch, WithoutAWindowAllIsFast) {
  TrickleWatch watch(0, 1024, all);
  EXPECT_EQ(EndsAfter(watch, "x"), 0);
}

}  // namespace
}  // namespace assay::http
