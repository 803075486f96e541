#include "data/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/testing/byte_tokenizer.h"

namespace assay::data {
namespace {

constexpr int32_t kEos = ByteTokenizer::kEos;

TEST(TextStream, TellsWholeCharactersBehindThePrompt) {
  TextStream stream = *TextStream::Create(*ByteTokenizer().Load(), {ByteTokenizer::kBos, 'a', 'b'});
  EXPECT_EQ(*stream.Add('c'), "c");
  EXPECT_EQ(*stream.Add(0xE2), "");  // of the euro sign
  EXPECT_EQ(*stream.Add(0x82), "");
  EXPECT_EQ(*stream.Add(0xAC), "\u20AC");
  EXPECT_EQ(*stream.Add(kEos), "");
  EXPECT_EQ(*stream.Finish(), "");
}

TEST(TextStream, TellsHalfACharacterAtTheEndAlone) {
  TextStream stream = *TextStream::Create(*ByteTokenizer().Load(), {'a'});
  EXPECT_EQ(*stream.Add('b'), "b");
  EXPECT_EQ(*stream.Add(0xE2), "");
  EXPECT_EQ(*stream.Finish(), "\uFFFD");
  EXPECT_EQ(*stream.Finish(), "");
}

TEST(TextStream, AtOnceTellsTheSame) {
  EXPECT_EQ(*TextBehind(*ByteTokenizer().Load(), {'a'}, {'b', 0xC3, 0xA9, kEos}), "b\u00E9");
}

}  // namespace
}  // namespace assay::data
