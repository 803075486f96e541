#include "base/utf8.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <random>
#include <string>

namespace assay {
namespace {

/// As another library reads it, code point by code point.
bool IsRead(std::string_view text) {
  for (utf8proc_ssize_t bytes = 0; !text.empty(); text.remove_prefix(static_cast<size_t>(bytes))) {
    utf8proc_int32_t code_point = 0;
    bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                             static_cast<utf8proc_ssize_t>(text.size()), &code_point);
    if (bytes <= 0) {
      return false;
    }
  }
  return true;
}

TEST(Utf8Test, WhatIsNotWellFormedIsNoneWhereverItStands) {
  for (const char* good :
       {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf"}) {
    for (const char* bad : {"\xff", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88",
                            "\xe2\x82", "\xf0\x9f\x98"}) {
      for (size_t before = 0; before < 140; ++before) {
        const std::string text = std::string(before, 'x') + good;
        EXPECT_TRUE(IsUtf8(text));
        EXPECT_FALSE(IsUtf8(text + bad));
        EXPECT_FALSE(IsUtf8(text + bad + std::string(70, 'y')));
      }
    }
  }
  EXPECT_TRUE(IsUtf8(std::string(3, '\0')));
}

TEST(Utf8Test, AnotherLibrarySaysTheSameOfDrawnBytes) {
  std::mt19937 draw(7);
  const std::string_view pieces[] = {"a",    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\xa0\x80",
                                     "\x80", "\xe2"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    const size_t most = 1 + draw() % 40;
    const size_t kinds = 4 + draw() % 4;  // half of them of well-formed ones alone
    while (text.size() < most) {
      text += pieces[draw() % kinds];
    }
    EXPECT_EQ(IsUtf8(text), IsRead(text)) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace assay
