#include "data/tokenizer/splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace assay::data {
namespace {

using testing::ElementsAre;

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

std::vector<std::string> Cut(const Splitter& splitter, const std::string& text) {
  std::vector<std::string> words;
  std::array<size_t, 3> ends;  // small, so that texts take several calls
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t count = splitter.Next(text, begin, ends);
    for (size_t i = 0; i < count; ++i) {
      words.push_back(text.substr(begin, ends[i] - begin));
      begin = ends[i];
    }
  }
  return words;
}

TEST(Splitter, UnknownPatternsHaveNone) {
  EXPECT_EQ(MakeSplitter(R"(\w+)"), nullptr);
  EXPECT_EQ(MakeSplitter(std::string(kGpt2Pattern) + " "), nullptr);
}

TEST(Splitter, Gpt2) {
  const auto splitter = MakeSplitter(kGpt2Pattern);
  EXPECT_THAT(Cut(*splitter, "I'm 23, ok?"), ElementsAre("I", "'m", " 23", ",", " ok", "?"));
  EXPECT_THAT(Cut(*splitter, "I'M"), ElementsAre("I", "'", "M"));
  EXPECT_THAT(Cut(*splitter, "a  b"), ElementsAre("a", " ", " b"));
  EXPECT_THAT(Cut(*splitter, "a \n b"), ElementsAre("a", " \n", " b"));
  EXPECT_THAT(Cut(*splitter, "a\n\nb  "), ElementsAre("a", "\n", "\n", "b", "  "));
  EXPECT_THAT(Cut(*splitter, "\xC3\xA9t\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87!"),
              ElementsAre("\xC3\xA9t\xC3\xA9", " \xE4\xB8\xAD\xE6\x96\x87", "!"));
  EXPECT_THAT(Cut(*splitter, ""), ElementsAre());
}

TEST(Splitter, Gpt2BetweenDigits) {
  const auto splitter = MakeGpt2DigitsSplitter();
  EXPECT_THAT(Cut(*splitter, "in 1999."), ElementsAre("in", " ", "1", "9", "9", "9", "."));
  // The pattern sees the text end before a digit, so a run of spaces stays whole.
  EXPECT_THAT(Cut(*splitter, "a   1   b"), ElementsAre("a", "   ", "1", "  ", " b"));
}

TEST(Splitter, Llama3) {
  const auto splitter = MakeSplitter(kLlama3);
  EXPECT_THAT(Cut(*splitter, "I'LL pay $12345 now"), ElementsAre("I", "'LL", " pay", " $", "123", "45", " now"));
  EXPECT_THAT(Cut(*splitter, "(x)\n\n  y"), ElementsAre("(x", ")\n\n", " ", " y"));
  EXPECT_THAT(Cut(*splitter, "a \n \n b"), ElementsAre("a", " \n \n", " b"));
  EXPECT_THAT(Cut(*splitter, "\tx 1"), ElementsAre("\tx", " ", "1"));
  EXPECT_THAT(Cut(*splitter, "a'\xC5\xBFx"), ElementsAre("a", "'\xC5\xBF", "x"));  // U+017F folds to s
}

TEST(Splitter, O200kBacktracksAtCase) {
  const auto splitter = MakeSplitter(kO200k);
  EXPECT_THAT(Cut(*splitter, "HelloWorld HTTPServer don't"), ElementsAre("Hello", "World", " HTTPServer", " don't"));
  EXPECT_THAT(Cut(*splitter, "ABC/\n/d"), ElementsAre("ABC", "/\n/", "d"));
  // U+02B0 is both: the match of the first alternative ends after it, before the upper case that follows.
  EXPECT_THAT(Cut(*splitter,
                  "A\xCA\xB0"
                  "BC"),
              ElementsAre("A\xCA\xB0", "BC"));
}

TEST(Splitter, SeparatorsStartWords) {
  const auto splitter = MakeSeparatorSplitter("_");
  EXPECT_THAT(Cut(*splitter, "ab_c__d_"), ElementsAre("ab", "_c", "__d", "_"));
  EXPECT_THAT(Cut(*splitter, "___"), ElementsAre("___"));
}

}  // namespace
}  // namespace assay::data
