#include "data/tokenizer/bpe_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "data/tokenizer/tokenizer.h"

namespace assay::data {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kTexts = {"low low low low low lower lower newest newest newest newest newest newest",
                                         "widest widest widest 2026"};

TEST(BpeTrainer, MergesTheMostFrequentPairsFirst) {
  const Result<std::string> json = TrainByteLevelBpe(kTexts, {.vocab_size = 3 + 256 + 4});
  ASSERT_TRUE(json.ok()) << json.status().message();
  const Tokenizer tokenizer = *Tokenizer::FromJson(*json, "trained");
  EXPECT_EQ(tokenizer.vocab_size(), 263);
  EXPECT_EQ(tokenizer.Token(0), "<|endoftext|>");
  // "es" and "st" are seen nine times each; of the two, "es" has the smaller ids.
  EXPECT_EQ(tokenizer.Token(259), "es");
  EXPECT_EQ(tokenizer.Token(260), "est");
}

TEST(BpeTrainer, IsTheSameInEveryRun) {
  EXPECT_EQ(*TrainByteLevelBpe(kTexts, {.vocab_size = 300}), *TrainByteLevelBpe(kTexts, {.vocab_size = 300}));
}

TEST(BpeTrainer, EveryTextComesBack) {
  const Tokenizer tokenizer = *Tokenizer::FromJson(*TrainByteLevelBpe(kTexts, {.vocab_size = 300}), "trained");
  const std::string text = "lowest 12 \xF0\x9F\x98\x80\n\tslow \xC3\xA9t\xC3\xA9";
  const auto ids = tokenizer.Encode(text, false);
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(*tokenizer.Decode(*ids, false), text);
}

TEST(BpeTrainer, StopsWhenNothingIsLeftToMerge) {
  const std::vector<std::string> texts = {"ab ab"};
  const Tokenizer tokenizer = *Tokenizer::FromJson(*TrainByteLevelBpe(texts, {.vocab_size = 1000}), "trained");
  EXPECT_EQ(tokenizer.vocab_size(), 3 + 256 + 2);  // "ab" and " ab"
}

TEST(BpeTrainer, RefusesWhatItCannotTrainOn) {
  EXPECT_THAT(TrainByteLevelBpe(kTexts, {.vocab_size = 258}).status().message(), HasSubstr("need at least 259"));
  const std::vector<std::string> broken = {"ok", "\xFF"};
  EXPECT_THAT(TrainByteLevelBpe(broken, {}).status().message(), HasSubstr("text 1 is not UTF-8"));
}

// The tokeniser kept in the repository is what the corpus gives.
TEST(BpeTrainer, RetrainsTheTokenizerOfTheRepository) {
  const std::string share = std::string(ASSAY_SOURCE_DIR) + "/share";
  std::vector<std::string> texts;
  for (const char* novel :
       {"emma", "mansfield_park", "northanger_abbey", "persuasion", "pride_and_prejudice", "sense_and_sensibility"}) {
    const auto text = ReadFile(share + "/corpus/austen/" + novel + ".txt");
    ASSERT_TRUE(text.ok()) << text.status().message();
    texts.push_back(*text);
  }
  const auto kept = ReadFile(share + "/tokenizers/assay-8k/tokenizer.json");
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  const auto trained = TrainByteLevelBpe(texts, {.vocab_size = 8192});
  ASSERT_TRUE(trained.ok());
  EXPECT_TRUE(*trained == *kept) << "retrain it: see share/tokenizers/assay-8k/README.md";
}

}  // namespace
}  // namespace assay::data
