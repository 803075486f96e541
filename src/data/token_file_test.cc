#include "data/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace assay::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("token_file_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
    path_ = directory_->path() + "/rows.tokens";
  }

  /// Three rows of 3, 1 and 4 tokens.
  void WriteRows() {
    const std::vector<TokenRow> rows = {
        {{1, 2, 3}, {-100, -100, 3}, 1}, {{4}, {-100}, 2}, {{5, 6, 7, 8}, {-100, 6, 7, 8}, 4}};
    const Status status = WriteTokenFile(path_, rows, 9);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::string Bytes() { return *ReadFile(path_); }
  void Overwrite(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string OpenError() {
    const auto file = TokenFile::Open(path_);
    EXPECT_FALSE(file.ok());
    EXPECT_THAT(file.status().message(), ::testing::Not(HasSubstr("\n")));
    return file.status().message();
  }

  std::optional<TemporaryDirectory> directory_;
  std::string path_;
};

TEST_F(TokenFileTest, ReadsBackWhatWasWritten) {
  WriteRows();
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->rows(), 3);
  EXPECT_EQ(file->tokens(), 8);
  EXPECT_EQ(file->vocab_size(), 9);
  EXPECT_THAT(file->row(0, 100).ids, ElementsAre(1, 2, 3));
  EXPECT_THAT(file->row(0, 100).labels, ElementsAre(-100, -100, 3));
  EXPECT_THAT(file->row(1, 100).ids, ElementsAre(4));
  EXPECT_THAT(file->row(2, 100).labels, ElementsAre(-100, 6, 7, 8));
  EXPECT_EQ(file->row(2, 100).line, 4);
  EXPECT_TRUE(file->CheckIds().ok());
}

TEST_F(TokenFileTest, CutsRowsToTheReadersLength) {
  WriteRows();
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(file->row(2, 2).ids, ElementsAre(5, 6));
  EXPECT_THAT(file->row(2, 2).labels, ElementsAre(-100, 6));
}

TEST_F(TokenFileTest, NothingStandsUnderTheFinalNameBeforeFinish) {
  {
    auto writer = TokenFileWriter::Create(path_);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->Append({{1, 2}, {-100, 2}}).ok());
    EXPECT_FALSE(FileExists(path_));
  }
  EXPECT_FALSE(FileExists(path_));
}

TEST_F(TokenFileTest, RefusesARowWithoutTokensOrWithOtherLabels) {
  auto writer = TokenFileWriter::Create(path_);
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE(writer->Append({}).ok());
  EXPECT_FALSE(writer->Append({{1, 2}, {-100}}).ok());
}

TEST_F(TokenFileTest, MissingFileIsOneLine) {
  EXPECT_THAT(OpenError(), HasSubstr("rows.tokens"));
}

TEST_F(TokenFileTest, OtherFilesAreRefused) {
  Overwrite("{\"output\": \"text\"}\n");
  EXPECT_THAT(OpenError(), HasSubstr("does not start with ASSAYTOK"));
  Overwrite("");
  EXPECT_THAT(OpenError(), HasSubstr("rows.tokens"));
}

TEST_F(TokenFileTest, OtherVersionIsRefused) {
  WriteRows();
  std::string bytes = Bytes();
  bytes[8] = 7;
  Overwrite(bytes);
  EXPECT_THAT(OpenError(), HasSubstr("version 7"));
}

TEST_F(TokenFileTest, EveryTruncationIsRefused) {
  WriteRows();
  const std::string bytes = Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    Overwrite(bytes.substr(0, size));
    EXPECT_FALSE(TokenFile::Open(path_).ok()) << size;
  }
}

TEST_F(TokenFileTest, CountsAndOffsetsThatLieAreRefused) {
  WriteRows();
  const std::string bytes = Bytes();
  const size_t trailer = bytes.size() - 32;
  // The highest byte of the row count, of the token count; then the vocabulary, the second offset, the first offset.
  for (const size_t position : {trailer + 7, trailer + 15, trailer, trailer + 8, trailer + 23, size_t{16 + 64 + 8},
                                size_t{16 + 64}, size_t{16 + 64 + 31}}) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(0x7f);
    Overwrite(damaged);
    EXPECT_FALSE(TokenFile::Open(path_).ok()) << position;
  }
}

TEST_F(TokenFileTest, CheckIdsFindsAnIdOutsideTheVocabulary) {
  WriteRows();
  std::string bytes = Bytes();
  bytes[16] = 9;
  Overwrite(bytes);
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(file->CheckIds().message(), HasSubstr("outside its vocabulary of 9"));
}

TEST_F(TokenFileTest, RowsWhoseResponseIsCutAwayAreCountedUntilAllAre) {
  ASSERT_TRUE(
      WriteTokenFile(path_, std::vector<TokenRow>{{{1, 2, 3}, {-100, 2, 3}, 1}, {{4, 5, 6}, {-100, -100, 6}, 5}}, 9)
          .ok());
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*CountUnsupervisedRows(*file, 3, "data.jsonl"), 0);
  EXPECT_EQ(*CountUnsupervisedRows(*file, 2, "data.jsonl"), 1);
  const Status status = CountUnsupervisedRows(*file, 1, "data.jsonl").status();
  EXPECT_EQ(status.code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("data.jsonl: the responses of all its 2 rows are gone after truncation to 1"));
  EXPECT_THAT(status.message(), HasSubstr("supervised is number 2)"));
}

TEST_F(TokenFileTest, ASupervisedFirstTokenAloneBearsNoLoss) {
  ASSERT_TRUE(WriteTokenFile(path_, std::vector<TokenRow>{{{1, 2}, {1, -100}, 7}}, 9).ok());
  const auto file = TokenFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(CountUnsupervisedRows(*file, 512, "data.jsonl").status().message(),
              HasSubstr("data.jsonl: none of the first 2 tokens of its 1 rows is supervised"));
}

}  // namespace
}  // namespace assay::data
