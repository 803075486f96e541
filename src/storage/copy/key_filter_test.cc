#include "storage/copy/key_filter.h"

#include <gtest/gtest.h>

namespace assay::storage {
namespace {

TEST(KeyFilter, TakesAllWithoutPatterns) {
  EXPECT_TRUE(KeyFilter().Takes("any/key"));
}

TEST(KeyFilter, TheLastPatternThatFitsCounts) {
  KeyFilter filter;
  filter.Exclude("*");
  filter.Include("*.txt");
  filter.Exclude("secret/*");
  EXPECT_TRUE(filter.Takes("deep/er/a.txt")) << "a star goes over slashes";
  EXPECT_FALSE(filter.Takes("a.bin"));
  EXPECT_FALSE(filter.Takes("secret/a.txt"));
  EXPECT_TRUE(filter.Takes("not secret/a.txt")) << "a pattern is of the whole key";
}

TEST(KeyFilter, AnIncludeAloneLeavesNothingOut) {
  KeyFilter filter;
  filter.Include("*.txt");
  EXPECT_TRUE(filter.Takes("a.bin"));
}

TEST(KeyFilter, KnowsSetsCharactersAndEscapes) {
  KeyFilter filter;
  filter.Exclude("shard-[0-3]?");
  filter.Exclude("caf?");
  filter.Exclude("[!a-z]x");
  filter.Exclude("literal\\*");
  EXPECT_FALSE(filter.Takes("shard-07"));
  EXPECT_TRUE(filter.Takes("shard-47"));
  EXPECT_FALSE(filter.Takes("caf\u00e9")) << "one character of two bytes";
  EXPECT_FALSE(filter.Takes("9x"));
  EXPECT_TRUE(filter.Takes("bx"));
  EXPECT_FALSE(filter.Takes("literal*"));
  EXPECT_TRUE(filter.Takes("literally"));
}

}  // namespace
}  // namespace assay::storage
