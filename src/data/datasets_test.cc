#include "data/datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "data/corpus.h"
#include "data/passages.h"

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::StartsWith;

const std::string kDatasetsShare = ASSAY_SOURCE_DIR "/share";

std::unique_ptr<RowSource> OpenOrDie(std::string_view id) {
  auto rows = OpenDataset(id, kDatasetsShare);
  EXPECT_TRUE(rows.ok()) << rows.status().message();
  return *std::move(rows);
}

std::string HashOfRows(const RowSource& rows) {
  std::string all;
  for (int64_t i = 0; i < rows.size(); ++i) {
    all += FormatRow(*rows.Read(i)) + "\n";
  }
  return Sha256Hex(all);
}

/// Words of `text`, counted as the reference's generator counts them.
int64_t CountWords(std::string_view text) {
  int64_t words = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool inside = text[i] != ' ' && text[i] != '\n';
    words += inside && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n') ? 1 : 0;
  }
  return words;
}

TEST(Datasets, RowsAreTheSameOnEveryMachine) {
  EXPECT_EQ(HashOfRows(*OpenOrDie("news-chars-512-entries-256")),
            "d70640a6dd7ef3e978a121b2df10ad73ce8c934cc8f28ec5fd65be986c5ec11d");
  EXPECT_EQ(HashOfRows(*OpenOrDie("austen-completion")),
            "bc19ee026fb0d5218ee5294efcb958813ddf738b005b39c79c665b691192169b");
}

TEST(Datasets, EveryKnownIdOpensOrSaysWhyNot) {
  for (const std::string id :
       {"austen-completion", "news-chars-512-entries-256", "news-chars-1024-entries-1024",
        "news-chars-2048-entries-4096", "news-tokens-16384plus-entries-4096", "news-tokens-128kplus-entries-320"}) {
    EXPECT_TRUE(IsKnownDataset(id));
    EXPECT_TRUE(OpenDataset(id, kDatasetsShare).ok()) << id;
  }
  for (const std::string id : {"vision-384x384-16384plus-entries-4096", "vision-384x768-16384plus-entries-4096"}) {
    EXPECT_TRUE(IsKnownDataset(id));
    const Status status = OpenDataset(id, kDatasetsShare).status();
    EXPECT_EQ(status.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr(id));
  }
}

TEST(Datasets, AnUnknownIdNamesTheNearest) {
  const auto rows = OpenDataset("news-chars-512-entries-265", kDatasetsShare);
  EXPECT_THAT(rows.status().message(), HasSubstr("did you mean 'news-chars-512-entries-256'?"));
}

TEST(Datasets, AMissingCorpusIsOneLine) {
  EXPECT_THAT(OpenDataset("austen-completion", "/nonexistent").status().message(), HasSubstr("corpus/austen/emma.txt"));
}

TEST(Datasets, CharacterRowsHaveTheReferencesFormatAndRepeat) {
  const auto rows = OpenOrDie("news-chars-2048-entries-4096");
  ASSERT_EQ(rows->size(), 4096);
  const std::string prefix =
      "Write a response that appropriately completes the remainder of the following input text.\n\n### Input:\n";
  const std::string text = rows->Read(5)->text;
  EXPECT_THAT(text, StartsWith(prefix));
  EXPECT_EQ(text.substr(prefix.size() + 2048, 16), "\n\n### Response: ");
  EXPECT_EQ(text.size(), prefix.size() + 2 * 2048 + 16);
  const Corpus corpus = *LoadCorpus(kDatasetsShare);
  const int64_t distinct = WordRing(corpus).characters() / 4096;
  EXPECT_NE(rows->Read(0)->text, rows->Read(distinct - 1)->text);
  EXPECT_EQ(rows->Read(0)->text, rows->Read(distinct)->text);
}

TEST(Datasets, LongRowsHaveTheReferencesWordCounts) {
  const auto rows = OpenOrDie("news-tokens-16384plus-entries-256");
  for (const int64_t index : {0, 52, 255}) {
    const std::string text = rows->Read(index)->text;
    EXPECT_THAT(text, StartsWith("### Input:\n "));
    const size_t response = text.find(" \n\n### Response: ");
    ASSERT_NE(response, std::string::npos);
    EXPECT_EQ(CountWords(text.substr(0, response)), 2 + 8);
    EXPECT_EQ(CountWords(text.substr(response)), 2 + 13680);
  }
}

TEST(Datasets, EachLongRowGoesOnWhereTheLastOneEnded) {
  const auto rows = OpenOrDie("news-tokens-128kplus-entries-320");
  const WordRing ring(*LoadCorpus(kDatasetsShare));
  const std::string first = rows->Read(6)->text;
  const std::string second = rows->Read(7)->text;
  const int64_t words = 8 + 114000;
  EXPECT_TRUE(first.ends_with(ring.Words(7 * words - 5, 5)));
  EXPECT_THAT(second, StartsWith("### Input:\n " + ring.Words(7 * words, 8)));
}

TEST(Passages, VaryInLengthAndFollowOneAnother) {
  const std::vector<Passage> passages = CutIntoPassages(*LoadCorpus(kDatasetsShare));
  EXPECT_THAT(passages.size(), AllOf(Ge(2000u), Le(4000u)));
  size_t shortest = SIZE_MAX;
  size_t longest = 0;
  for (const Passage& passage : passages) {
    EXPECT_THAT(passage.beginning.size(), AllOf(Ge(80u), Le(250u))) << passage.beginning;
    const size_t size = passage.beginning.size() + passage.continuation.size();
    shortest = std::min(shortest, size);
    longest = std::max(longest, size);
    EXPECT_NE(std::string_view(".!?\"')_").find(passage.continuation.back()), std::string_view::npos)
        << passage.continuation;
  }
  EXPECT_THAT(shortest, AllOf(Ge(249u), Le(300u)));
  EXPECT_THAT(longest, AllOf(Ge(2400u), Le(4500u)));
}

TEST(WordRing, WrapsAroundAndCountsCharactersNotBytes) {
  const WordRing ring(Corpus{{{"a", "one  two\n"}, {"b", "\nthr\xC3\xA9\xC3\xA9 four"}}, ""});
  EXPECT_EQ(ring.words(), 4);
  EXPECT_EQ(ring.Words(1, 6), "two thr\xC3\xA9\xC3\xA9 four one two thr\xC3\xA9\xC3\xA9");
  EXPECT_EQ(ring.Words(7, 1), "four");
  EXPECT_EQ(ring.characters(), 18);
  EXPECT_EQ(ring.Characters(8, 5), "thr\xC3\xA9\xC3\xA9");
  EXPECT_EQ(ring.Characters(14, 4), "four");
}

}  // namespace
}  // namespace assay::data
