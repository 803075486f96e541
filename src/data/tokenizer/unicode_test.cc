#include "data/tokenizer/unicode.h"

#include <gtest/gtest.h>

namespace assay::data {
namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

TEST(Utf8, DecodesWhatItEncodes) {
  for (const uint32_t c : {0x0U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    std::string text;
    AppendUtf8(c, &text);
    const CodePoint decoded = DecodeUtf8(text.data());
    EXPECT_EQ(decoded.value, c);
    EXPECT_EQ(decoded.bytes, text.size());
    EXPECT_EQ(Utf8Length(text[0]), text.size());
    EXPECT_EQ(PreviousUtf8(text, text.size()), 0U);
    EXPECT_TRUE(IsValidUtf8(text));
  }
}

struct IllFormed {
  std::string bytes;
  int replacements;
};

// The counts are those of Python's errors="replace".
const IllFormed kIllFormed[] = {
    {"\xFF", 1},         {"\xC3", 1},         {"\xE2\x82", 1},         {"\xF0\x9F\x98", 1},
    {"\xED\xA0\x80", 3}, {"\xC0\x80", 2},     {"\xF5\x80\x80\x80", 4}, {"\xF4\x90\x80\x80", 4},
    {"\xE0\x80\x80", 3}, {"\x80\x80\x80", 3}, {"\xF0\x9F\xFF", 2},
};

TEST(Utf8, RepairsEveryMaximalIllFormedPart) {
  for (const IllFormed& sample : kIllFormed) {
    const std::string text = "abcdefgh" + sample.bytes + "z";
    std::string expected = "abcdefgh";
    for (int i = 0; i < sample.replacements; ++i) {
      expected += kReplacement;
    }
    EXPECT_FALSE(IsValidUtf8(text));
    EXPECT_EQ(RepairUtf8(text), expected + "z");
    EXPECT_TRUE(IsValidUtf8(RepairUtf8(text)));
  }
}

TEST(CharClasses, AreThoseOfTheirSource) {
  const uint16_t* classes = CharClasses();
  EXPECT_TRUE(classes['A'] & kUpper);
  EXPECT_TRUE(classes['z'] & kLower);
  EXPECT_TRUE(classes['7'] & kNumber);
  EXPECT_TRUE(classes['7'] & kNumeric);
  EXPECT_TRUE(classes['_'] & kWord);
  EXPECT_TRUE(classes['$'] & kPunctuation);
  EXPECT_TRUE(classes[0x01C5] & kUpper);        // title case
  EXPECT_TRUE(classes[0x4E2D] & kOtherLetter);  // ideograph
  EXPECT_TRUE(classes[0x0301] & kMark);
  EXPECT_TRUE(classes[0x0301] & kCombining);
  EXPECT_TRUE(classes[0x0301] & kNfcUnstable);
  EXPECT_TRUE(classes[0x3000] & kSpace);
  EXPECT_FALSE(classes[0x200B] & kSpace);  // zero-width space is none
  EXPECT_FALSE(classes[0x180E] & kSpace);  // nor is the Mongolian vowel separator any more
  EXPECT_EQ(classes[0xD800], 0);
}

TEST(Lowercase, FollowsTheFullMappings) {
  const auto lower = [](uint32_t c) {
    std::string text;
    AppendLowercase(c, &text);
    return text;
  };
  EXPECT_EQ(lower(0xC9), "\xC3\xA9");
  EXPECT_EQ(lower(0x130), "i\xCC\x87");  // two code points
  EXPECT_EQ(lower(0x4E2D), "\xE4\xB8\xAD");
}

TEST(NormalisationBarriers, AreCodePointsYoungerThanTheData) {
  EXPECT_TRUE(IsNormalisationBarrier(0x32FF));
  EXPECT_TRUE(IsNormalisationBarrier(0x0899));
  EXPECT_FALSE(IsNormalisationBarrier(0x0301));
  EXPECT_FALSE(IsNormalisationBarrier('a'));
}

}  // namespace
}  // namespace assay::data
