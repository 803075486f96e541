#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "data/tokenizer/bpe_model.h"
#include "data/tokenizer/unigram_model.h"
#include "data/tokenizer/word_models.h"

namespace assay::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Vocabulary MakeVocabulary(const std::vector<std::string>& tokens) {
  Vocabulary vocabulary;
  for (size_t id = 0; id < tokens.size(); ++id) {
    vocabulary.Add(tokens[id], static_cast<int32_t>(id));
  }
  return vocabulary;
}

std::vector<int32_t> Ids(const Model& model, const std::string& word) {
  ModelScratch scratch;
  std::vector<int32_t> ids;
  EXPECT_TRUE(model.Encode(word, &scratch, &ids)) << word;
  return ids;
}

const std::vector<std::string> kAbc = {"a", "b", "c", "ab", "bc", "abc", "aa", "aaaa", "<unk>"};
const std::vector<Merge> kAbcMerges = {{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"}, {"aa", "aa"}};

std::unique_ptr<const BpeModel> Abc(BpeOptions options = {}) {
  return *BpeModel::Create(MakeVocabulary(kAbc), kAbcMerges, std::move(options));
}

// The definition of the algorithm, without any cleverness.
std::vector<int32_t> MergeNaively(const std::string& word) {
  const Vocabulary vocabulary = MakeVocabulary(kAbc);
  std::vector<std::string> parts;
  for (const char c : word) {
    parts.emplace_back(1, c);
  }
  for (bool merged = true; merged;) {
    merged = false;
    for (const auto& [left, right] : kAbcMerges) {
      for (size_t i = 0; i + 1 < parts.size() && !merged; ++i) {
        if (parts[i] == left && parts[i + 1] == right) {
          parts[i] += right;
          parts.erase(parts.begin() + static_cast<ptrdiff_t>(i) + 1);
          merged = true;
        }
      }
      if (merged) {
        break;
      }
    }
  }
  std::vector<int32_t> ids;
  for (const std::string& part : parts) {
    ids.push_back(vocabulary.Find(part));
  }
  return ids;
}

TEST(BpeModel, MergesTheLowestRankThenTheLeftmost) {
  EXPECT_THAT(Ids(*Abc(), "abc"), ElementsAre(5));  // b c comes before a b
  EXPECT_THAT(Ids(*Abc(), "ab"), ElementsAre(3));
  EXPECT_THAT(Ids(*Abc(), "aaa"), ElementsAre(6, 0));
}

TEST(BpeModel, ShortAndLongWordsFollowTheDefinition) {
  std::mt19937 random(7);
  const auto model = Abc();
  for (size_t length = 1; length < 200; length += 3) {
    std::string word;
    for (size_t i = 0; i < length; ++i) {
      word += static_cast<char>('a' + random() % 3);
    }
    EXPECT_EQ(Ids(*model, word), MergeNaively(word)) << word;
  }
}

TEST(BpeModel, AMegabyteWithoutASpaceIsNotQuadratic) {
  const std::vector<int32_t> ids = Ids(*Abc(), std::string(1 << 20, 'a'));
  EXPECT_EQ(ids.size(), size_t{1} << 18);
}

TEST(BpeModel, RefusesMergesOfUnknownTokens) {
  const auto unknown = BpeModel::Create(MakeVocabulary(kAbc), {{"a", "z"}}, {});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(), HasSubstr("needs the token 'z'"));
  const auto result = BpeModel::Create(MakeVocabulary(kAbc), {{"c", "a"}}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("needs the token 'ca'"));
}

TEST(BpeModel, UnknownCharacters) {
  EXPECT_THAT(Ids(*Abc(), "axb"), ElementsAre(3));  // without an unknown token they are dropped, before merging
  EXPECT_THAT(Ids(*Abc({.unknown_token = "<unk>"}), "xxa"), ElementsAre(8, 8, 0));
  EXPECT_THAT(Ids(*Abc({.unknown_token = "<unk>", .fuse_unknown = true}), "xxa"), ElementsAre(8, 0));
  ModelScratch scratch;
  std::vector<int32_t> ids;
  EXPECT_FALSE(Abc({.unknown_token = "<none>"})->Encode("x", &scratch, &ids));
}

TEST(BpeModel, ByteFallback) {
  const Vocabulary vocabulary = MakeVocabulary({"<unk>", "a", "<0xC3>", "<0xA9>"});
  const auto model = *BpeModel::Create(vocabulary, {}, {.unknown_token = "<unk>", .byte_fallback = true});
  EXPECT_THAT(Ids(*model, "a\xC3\xA9"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Ids(*model, "a\xC3\xA8"), ElementsAre(1, 0));  // <0xA8> is missing
}

TEST(BpeModel, IgnoreMergesTakesWholeTokens) {
  EXPECT_THAT(Ids(*Abc({.ignore_merges = true}), "aaaa"), ElementsAre(7));
  EXPECT_THAT(Ids(*Abc({.ignore_merges = true}), "<unk>"), ElementsAre(8));
}

TEST(BpeModel, MayCutBeforeASeparatorThatNothingMergesWith) {
  const Vocabulary vocabulary = MakeVocabulary({"_", "a", "_a", "a_"});
  EXPECT_TRUE((*BpeModel::Create(vocabulary, {{"_", "a"}}, {}))->MayCutBefore("_"));
  EXPECT_FALSE((*BpeModel::Create(vocabulary, {{"a", "_"}}, {}))->MayCutBefore("_"));
  EXPECT_FALSE((*BpeModel::Create(vocabulary, {}, {}))->MayCutBefore("+"));
}

TEST(UnigramModel, TakesTheBestCut) {
  const auto model = *UnigramModel::Create(
      {{"<unk>", 0}, {"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}, {"cd", 1}, {"ab", 2}, {"abc", 5}, {"abcd", 10}}, 0, false);
  EXPECT_THAT(Ids(*model, "abcdacdxx"), ElementsAre(8, 1, 5, 0));  // unknown characters in a row are one token
  EXPECT_THAT(Ids(*model, "x"), ElementsAre(0));
}

TEST(UnigramModel, WithoutAnUnknownTokenUnknownTextFails) {
  const auto model = *UnigramModel::Create({{"a", 0}}, std::nullopt, false);
  ModelScratch scratch;
  std::vector<int32_t> ids;
  EXPECT_FALSE(model->Encode("ax", &scratch, &ids));
  EXPECT_FALSE(UnigramModel::Create({{"a", 0}}, 1, false).ok());
}

TEST(WordPieceModel, TakesTheLongestPiece) {
  const WordPieceModel model(MakeVocabulary({"[UNK]", "un", "##aff", "##able", "##a"}), {"[UNK]", "##", 10});
  EXPECT_THAT(Ids(model, "unaffable"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Ids(model, "unaffablex"), ElementsAre(0));   // as a whole
  EXPECT_THAT(Ids(model, "unaffableaa"), ElementsAre(0));  // eleven characters
}

TEST(WordLevelModel, LooksUpWholeWords) {
  const WordLevelModel model(MakeVocabulary({"<unk>", "word"}), "<unk>");
  EXPECT_THAT(Ids(model, "word"), ElementsAre(1));
  EXPECT_THAT(Ids(model, "words"), ElementsAre(0));
}

}  // namespace
}  // namespace assay::data
