#include "data/tokenizer/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> Matches(const std::string& pattern, const std::string& text) {
  const Result<Regex> regex = Regex::Compile(pattern);
  EXPECT_TRUE(regex.ok()) << regex.status().message();
  std::vector<std::string> found;
  const Status status =
      regex->ForEachMatch(text, [&](size_t begin, size_t end) { found.push_back(text.substr(begin, end - begin)); });
  EXPECT_TRUE(status.ok()) << status.message();
  return found;
}

std::string ErrorOf(const std::string& pattern) {
  const Result<Regex> regex = Regex::Compile(pattern);
  EXPECT_FALSE(regex.ok()) << pattern;
  return regex.ok() ? "" : regex.status().message();
}

TEST(Regex, ScriptsAreWithoutTheirExtensions) {
  EXPECT_THAT(Matches(R"(\p{Han}+)", "世界。"), ElementsAre("世界"));
  EXPECT_THAT(Matches(R"(\p{Arabic}+)", "مر،"), ElementsAre("مر"));
}

TEST(Regex, WordsAreOniguruma) {
  EXPECT_THAT(Matches(R"(\w+)", "m² a_1"), ElementsAre("m²", "a_1"));
  EXPECT_THAT(Matches(R"([\w]+)", "m²"), ElementsAre("m"));
  EXPECT_THAT(Matches(R"(\d{1,3}(?=(?:\d{3})*\b))", "1000\u0301"), ElementsAre());
  EXPECT_THAT(Matches(R"(\d{1,3}(?=(?:\d{3})*\b))", "1000"), ElementsAre("1", "000"));
}

TEST(Regex, RepetitionsAreOniguruma) {
  EXPECT_THAT(Matches(R"(\d{1,3}+)", "0000"), ElementsAre("0000"));
  EXPECT_THAT(Matches("a{,2}", "aaa"), ElementsAre("aa", "a"));
  EXPECT_THAT(Matches("a{,}", "a{,}"), ElementsAre("a{,}"));
  EXPECT_THAT(Matches("a{2}?b", "ab aab"), ElementsAre("b", "aab"));
  EXPECT_THAT(Matches("a{2,2}?b", "ab aab"), ElementsAre("aab"));
}

TEST(Regex, ClassesNestAndIntersect) {
  EXPECT_THAT(Matches("[a-z&&[^aeiou]]+", "abcde"), ElementsAre("bcd"));
  EXPECT_THAT(Matches(" ?[^(\\s|[.,])]+", "ab, c"), ElementsAre("ab", " c"));
  EXPECT_THAT(Matches("[[:alpha:]]+", "aé1"), ElementsAre("aé"));
}

TEST(Regex, CaseIsIgnoredWithinItsGroup) {
  EXPECT_THAT(Matches("(?i:'s)", "'s 'S 'ſ"), ElementsAre("'s", "'S", "'ſ"));
  EXPECT_THAT(Matches("a(?i)b|c", "aB C aC"), ElementsAre("aB", "aC"));
}

TEST(Regex, EmptyMatchesAreWhereNoMatchEnded) {
  EXPECT_THAT(Matches("a*", "ba"), ElementsAre("", "a"));
  EXPECT_THAT(Matches("$", "é\n"), SizeIs(2));
}

TEST(Regex, WhatBeginsWithAnyNumberOfAnyIsFoundWhereOnigurumaLooks) {
  EXPECT_THAT(Matches(R"(\B.*b)", "ab\ncab"), ElementsAre());
  EXPECT_THAT(Matches(R"(x{0}\B.*b)", "ab\ncab"), ElementsAre());
  EXPECT_THAT(Matches(R"((?:\A|\B).*b)", "ab cab\ncab"), ElementsAre("ab cab"));
  EXPECT_THAT(Matches(R"(\B.*)", "abc"), ElementsAre("bc"));
  EXPECT_THAT(Matches(R"(\B.*b(?!x))", "abb"), ElementsAre("bb"));
  EXPECT_THAT(Matches(R"((?m)\B.*b)", "abb"), ElementsAre("bb"));
  EXPECT_THAT(Matches(R"((?m)\B.*b)", "  abb"), ElementsAre("  abb"));
  EXPECT_THAT(ErrorOf(R"((?=[a-c])\B.*b)"), HasSubstr("'.*' behind an assertion at its beginning, in a way that"));
}

TEST(Regex, ALookAheadIsNotTakenForTheBeginningOfWhatMatches) {
  EXPECT_THAT(Matches("(?=b)a?b", "b"), ElementsAre("b"));
  EXPECT_THAT(Matches("(?=b).*?b", "xb"), ElementsAre("b"));
}

TEST(Regex, LongRunsDoNotEndTheSearch) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) {
    text += "1.2_";
  }
  text += "3";
  // More than the stack of compiled code holds.
  EXPECT_THAT(Matches(R"((?:(?:\d+|x)(?:[._]|y))*\d)", text), ElementsAre(text));
}

TEST(Regex, ASearchWithoutEndIsAnError) {
  const Regex regex = *Regex::Compile("(?:a+)+b|(?:(?:a|aa)+)+c");
  const Status status = regex.ForEachMatch(std::string(60, 'a'), [](size_t, size_t) {});
  EXPECT_THAT(status.message(), HasSubstr("cannot search 60 characters with the regular expression '(?:a+)+b"));
}

TEST(Regex, ASearchThatNeedsMuchMemoryIsAnError) {
  std::string text;
  for (int i = 0; i < 2'000'000; ++i) {
    text += "1.2_";
  }
  const Regex regex = *Regex::Compile(R"((?:(?:\d+|x)(?:[._]|y))*\d)");
  const Status status = regex.ForEachMatch(text, [](size_t, size_t) {});
  EXPECT_THAT(status.message(), HasSubstr(R"(with the regular expression '(?:(?:\d+|x)(?:[._]|y))*\d': heap limit)"));
}

TEST(Regex, WhatCannotBeTheSameIsRefusedByName) {
  EXPECT_EQ(ErrorOf(R"((a)\1)"), R"(regular expression '(a)\1' uses back references, which is not supported)");
  EXPECT_THAT(ErrorOf(R"(\X)"), HasSubstr(R"(uses the escape \X)"));
  EXPECT_THAT(ErrorOf(R"(\p{Klingon})"), HasSubstr("uses the property 'Klingon'"));
  EXPECT_THAT(ErrorOf("(?i)first"), HasSubstr("uses letters that ligatures stand for"));
  EXPECT_THAT(ErrorOf("(?<=a+)b"), HasSubstr("uses what PCRE2 cannot do: lookbehind"));
  EXPECT_EQ(ErrorOf("(a"), "regular expression '(a' does not compile: a group has no end");
}

}  // namespace
}  // namespace assay::data
