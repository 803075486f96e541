#include "data/prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/files.h"
#include "data/testing/byte_tokenizer.h"
#include "data/token_file.h"

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PrepareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("prepare_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
    spec_.data = directory_->path() + "/data.jsonl";
    spec_.cache_dir = directory_->path() + "/cache";
    spec_.tokenizer_dir = tokenizer_.folder();
    spec_.share_dir = ASSAY_SOURCE_DIR "/share";
    spec_.threads = 2;
  }

  void Write(const std::string& text) { std::ofstream(spec_.data, std::ios::binary) << text; }

  PreparedTokens PrepareOrDie() {
    auto prepared = PrepareTokens(spec_);
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    return prepared.ok() ? *prepared : PreparedTokens{};
  }

  std::string Error() {
    const auto prepared = PrepareTokens(spec_);
    EXPECT_FALSE(prepared.ok());
    EXPECT_THAT(prepared.status().message(), Not(HasSubstr("\n")));
    return prepared.status().message();
  }

  int64_t CachedFiles() {
    int64_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(spec_.cache_dir + "/tokens")) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    return files;
  }

  ByteTokenizer tokenizer_;
  std::optional<TemporaryDirectory> directory_;
  DataSpec spec_;
};

constexpr const char* kFourShapes =
    "{\"output\": \"q\\n### Response: a\"}\n"
    "\n"
    "{\"prompt\": \"p\", \"completion\": \"c\"}\n"
    "{\"messages\": [{\"role\": \"assistant\", \"content\": \"m\"}]}\n"
    "{\"input_ids\": [5, 6], \"labels\": [-100, 6]}\n";

TEST_F(PrepareTest, TokenisesMixedRowsWithTheirLines) {
  Write(kFourShapes);
  const PreparedTokens prepared = PrepareOrDie();
  EXPECT_EQ(prepared.rows, 4);
  EXPECT_EQ(prepared.vocab_size, ByteTokenizer::kVocabSize);
  EXPECT_FALSE(prepared.cached);
  EXPECT_EQ(prepared.data_hash, Sha256Hex(kFourShapes));
  EXPECT_EQ(prepared.tokenizer_hash.size(), 64u);

  const auto file = TokenFile::Open(prepared.tokens_file);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->tokens(), prepared.tokens);
  EXPECT_EQ(file->row(0, 512).ids.front(), ByteTokenizer::kBos);
  EXPECT_EQ(file->row(0, 512).ids.back(), ByteTokenizer::kEos);
  EXPECT_THAT(file->row(1, 512).ids, ElementsAre(ByteTokenizer::kBos, 'p', 'c', ByteTokenizer::kEos));
  EXPECT_THAT(file->row(1, 512).labels, ElementsAre(-100, -100, 'c', ByteTokenizer::kEos));
  EXPECT_THAT(file->row(3, 512).labels, ElementsAre(-100, 6));
  EXPECT_EQ(file->row(1, 512).line, 3);
  EXPECT_EQ(file->row(3, 512).line, 5);
}

TEST_F(PrepareTest, TheSecondTimeTheFileIsFound) {
  Write(kFourShapes);
  const PreparedTokens first = PrepareOrDie();
  const PreparedTokens second = PrepareOrDie();
  EXPECT_TRUE(second.cached);
  EXPECT_EQ(second.tokens_file, first.tokens_file);
  EXPECT_EQ(second.tokens, first.tokens);
}

TEST_F(PrepareTest, WhatDecidesTheTokensDecidesTheFile) {
  Write(kFourShapes);
  std::set<std::string> files = {PrepareOrDie().tokens_file};
  spec_.max_length = 300;  // rounded up to 512 as well
  EXPECT_EQ(files.count(PrepareOrDie().tokens_file), 1u);
  spec_.max_length = 513;
  EXPECT_TRUE(files.insert(PrepareOrDie().tokens_file).second);
  spec_.response_template = "### Response:";
  EXPECT_TRUE(files.insert(PrepareOrDie().tokens_file).second);
  const ByteTokenizer other({.joins_newlines = true});
  spec_.tokenizer_dir = other.folder();
  EXPECT_TRUE(files.insert(PrepareOrDie().tokens_file).second);
  Write(std::string(kFourShapes) + "{\"input_ids\": [5, 6]}\n");
  EXPECT_TRUE(files.insert(PrepareOrDie().tokens_file).second);
}

TEST_F(PrepareTest, TheHashesThatAreFoundWithoutTokenisingAreThoseOfTheTokens) {
  Write(kFourShapes);
  const auto expect_alike = [&] {
    const PreparedTokens prepared = PrepareOrDie();
    const auto content = HashData(spec_);
    ASSERT_TRUE(content.ok()) << content.status().message();
    EXPECT_EQ(content->data_hash, prepared.data_hash);
    EXPECT_EQ(content->tokenizer_hash, prepared.tokenizer_hash);
  };
  expect_alike();
  spec_.data = "news-chars-512-entries-256";
  spec_.max_length = 2048;
  expect_alike();
  spec_.data = directory_->path() + "/data.jsonl";
  Write("{\"input_ids\": [5, 6, 300]}\n");
  spec_.tokenizer_dir = "";
  expect_alike();
}

TEST_F(PrepareTest, ADamagedFileIsMadeAgain) {
  Write(kFourShapes);
  const PreparedTokens first = PrepareOrDie();
  const std::string whole = *ReadFile(first.tokens_file);
  std::string wrong_id = whole;
  wrong_id[19] = 0x7f;
  for (const std::string& damaged : {whole.substr(0, whole.size() / 2), std::string("nothing"), wrong_id}) {
    std::ofstream(first.tokens_file, std::ios::binary) << damaged;
    EXPECT_FALSE(PrepareOrDie().cached);
    EXPECT_EQ(*ReadFile(first.tokens_file), whole);
  }
  EXPECT_TRUE(PrepareOrDie().cached);
}

TEST_F(PrepareTest, ManyAtOnceAgreeAndLeaveOneFile) {
  spec_.data = "news-chars-512-entries-256";
  spec_.max_length = 2048;
  std::vector<std::string> files(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& file : files) {
      threads.emplace_back([&] { file = PrepareOrDie().tokens_file; });
    }
  }
  EXPECT_EQ(std::set<std::string>(files.begin(), files.end()).size(), 1u);
  EXPECT_EQ(CachedFiles(), 1);
}

TEST_F(PrepareTest, ThreadsDoNotChangeTheFile) {
  spec_.data = "news-chars-512-entries-256";
  spec_.max_length = 2048;
  spec_.threads = 1;
  const std::string one = *ReadFile(PrepareOrDie().tokens_file);
  spec_.cache_dir += "2";
  spec_.threads = 3;
  EXPECT_EQ(*ReadFile(PrepareOrDie().tokens_file), one);
}

TEST_F(PrepareTest, RowsOfTokensNeedNoTokenizer) {
  Write("{\"input_ids\": [5, 6, 300]}\n");
  spec_.tokenizer_dir = "";
  const PreparedTokens prepared = PrepareOrDie();
  EXPECT_EQ(prepared.vocab_size, 301);
  EXPECT_EQ(prepared.tokenizer_hash, "");
}

TEST_F(PrepareTest, IdsBeyondTheModelsVocabularyAreNamedByRow) {
  Write("{\"input_ids\": [5, 6]}\n{\"input_ids\": [5, 300]}\n");
  spec_.model_vocab_size = 301;
  PrepareOrDie();
  spec_.model_vocab_size = 300;
  EXPECT_THAT(Error(), AllOf(HasSubstr("data.jsonl:2: the row has token id 300"), HasSubstr("vocabulary of 300")));
}

TEST_F(PrepareTest, ATokenizerLargerThanTheModelIsRefused) {
  Write("{\"prompt\": \"p\", \"completion\": \"c\"}\n");
  spec_.model_vocab_size = 260;
  EXPECT_THAT(Error(), HasSubstr("the model's vocabulary of 260 is smaller than the tokenizer's of 261"));
}

TEST_F(PrepareTest, RowsWhoseResponseIsCutAwayAreCounted) {
  const std::string long_row = "{\"prompt\": \"" + std::string(80, 'x') + "\", \"completion\": \"c\"}\n";
  Write("{\"prompt\": \"p\", \"completion\": \"c\"}\n" + long_row);
  EXPECT_EQ(PrepareOrDie().unsupervised_rows, 0);
  spec_.max_length = 64;
  EXPECT_EQ(PrepareOrDie().unsupervised_rows, 1);
  Write(long_row);
  EXPECT_THAT(Error(), AllOf(HasSubstr("gone after truncation to 64 tokens"), HasSubstr("supervised is number 82")));
  spec_.max_length = 1;
  EXPECT_THAT(Error(), HasSubstr("maximum length of 1"));
}

TEST_F(PrepareTest, AnIdIsTheDataSetWhateverLiesInTheWorkingFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_->path());
  std::ofstream("austen-completion") << "{\"prompt\": \"p\", \"completion\": \"c\"}\n";
  spec_.data = "austen-completion";
  const PreparedTokens by_id = PrepareOrDie();
  spec_.data = "./austen-completion";
  const PreparedTokens by_path = PrepareOrDie();
  std::filesystem::current_path(before);
  EXPECT_GT(by_id.rows, 1);
  EXPECT_EQ(by_path.rows, 1);
}

TEST_F(PrepareTest, TextForAModelWithoutAReadableTokenizerIsRefusedWithTheReason) {
  Write("{\"input_ids\": [5, 6]}\n{\"prompt\": \"p\", \"completion\": \"c\"}\n");
  spec_.tokenizer_dir = "";
  spec_.no_tokenizer = "the model holds its tokenizer as tekken.json";
  EXPECT_THAT(Error(), HasSubstr("data.jsonl:2: the model holds its tokenizer as tekken.json"));
}

TEST_F(PrepareTest, TheFirstBadRowIsNamedAndNothingIsLeft) {
  std::string rows;
  for (int i = 0; i < 200; ++i) {
    rows += i == 70 || i == 71 || i == 150 ? "{\"output\": \"no template\"}\n"
                                           : "{\"prompt\": \"p\", \"completion\": \"c\"}\n";
  }
  Write(rows);
  EXPECT_THAT(Error(), HasSubstr("data.jsonl:71: the row does not hold the response template"));
  EXPECT_EQ(CachedFiles(), 0);
}

TEST_F(PrepareTest, MissingThingsAreOneLine) {
  EXPECT_THAT(Error(), HasSubstr("data.jsonl"));
  Write("");
  EXPECT_THAT(Error(), HasSubstr("is empty"));
  Write("{\"prompt\": \"p\", \"completion\": \"c\"}\n");
  spec_.tokenizer_dir = directory_->path();
  EXPECT_THAT(Error(), HasSubstr("tokenizer.json"));
  spec_.tokenizer_dir = "";
  EXPECT_THAT(Error(), HasSubstr("data.jsonl:1: the row is text and there is no tokenizer"));
  spec_.data = "news-chars-512-entries-255";
  EXPECT_THAT(Error(), HasSubstr("did you mean"));
  spec_.data = "austen-completion";
  spec_.tokenizer_dir = tokenizer_.folder();
  spec_.cache_dir = tokenizer_.folder() + "/tokenizer.json";
  EXPECT_THAT(Error(), HasSubstr("cannot create folder"));
}

}  // namespace
}  // namespace assay::data
