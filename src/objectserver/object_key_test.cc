#include "objectserver/object_key.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::objectserver {
namespace {

TEST(ObjectKey, IsUtf8WithoutNul) {
  for (const std::string key : {"a", "a/b c", "\x01\n", "\xc2\x80", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80",
                                "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsObjectKey(key)) << testing::PrintToString(key);
    EXPECT_FALSE(IsObjectKey(key + '\0'));
    EXPECT_FALSE(IsObjectKey(key + "\x80"));
  }
  for (const std::string key :
       {"\xff", "\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
        "\xe2\x82\x41", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf0\x9f\x98", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_FALSE(IsObjectKey(key)) << testing::PrintToString(key);
  }
}

TEST(ObjectKey, HasABoundedLength) {
  EXPECT_FALSE(IsObjectKey(""));
  EXPECT_TRUE(IsObjectKey(std::string(kMaxKeyBytes, 'k')));
  EXPECT_FALSE(IsObjectKey(std::string(kMaxKeyBytes + 1, 'k')));
}

}  // namespace
}  // namespace assay::objectserver
