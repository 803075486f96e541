#include "data/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "data/jsonl_file.h"

namespace assay::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseRow, ReadsTheFourShapes) {
  const auto text = ParseRow(R"({"output": "a\n### Response: b"})");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->kind, RowKind::kText);
  EXPECT_EQ(text->text, "a\n### Response: b");

  const auto pair = ParseRow(R"({"prompt": "p", "completion": " c"})");
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->kind, RowKind::kPromptCompletion);
  EXPECT_EQ(pair->text + pair->completion, "p c");

  const auto chat = ParseRow(
      R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "name": "x"}]})");
  ASSERT_TRUE(chat.ok());
  EXPECT_EQ(chat->kind, RowKind::kMessages);
  EXPECT_EQ(chat->messages[1].content, "a");

  const auto tokens = ParseRow(R"({"input_ids": [1, 2], "labels": [-100, 2]})");
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(tokens->kind, RowKind::kTokens);
  EXPECT_THAT(tokens->tokens.labels, ElementsAre(-100, 2));
}

TEST(ParseRow, LabelsDefaultToTheIds) {
  for (const char* json : {R"({"input_ids": [3, 4]})", R"({"input_ids": [3, 4], "labels": null})"}) {
    const auto row = ParseRow(json);
    ASSERT_TRUE(row.ok());
    EXPECT_THAT(row->tokens.labels, ElementsAre(3, 4));
  }
}

TEST(ParseRow, OtherKeysAreIgnoredAndTokensComeFirst) {
  const auto row = ParseRow(R"({"id": 7, "output": "x", "input_ids": [1]})");
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->kind, RowKind::kTokens);
}

TEST(ParseRow, FormatRowIsItsInverse) {
  for (const char* json :
       {R"({"output":"a\nb \"q\" é"})", R"({"completion":"c","prompt":"p"})",
        R"({"messages":[{"content":"a","role":"assistant"}]})", R"({"input_ids":[1,2],"labels":[-100,2]})"}) {
    const auto row = ParseRow(json);
    ASSERT_TRUE(row.ok()) << row.status().message();
    EXPECT_EQ(FormatRow(*row), json);
  }
}

struct BadRow {
  const char* json;
  const char* message;
};

class BadRowTest : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadRowTest, IsRefusedInOneLine) {
  const auto row = ParseRow(GetParam().json);
  ASSERT_FALSE(row.ok());
  EXPECT_EQ(row.status().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(row.status().message(), AllOf(HasSubstr(GetParam().message), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, BadRowTest,
    ::testing::Values(
        BadRow{"{\"output\": \"a\"", "the row is not JSON (at character 15)"}, BadRow{"text", "the row is not JSON"},
        BadRow{"{\"output\": \"\xff\"}", "the row is not JSON"},
        BadRow{R"(["output"])", "the row is a JSON array; expected an object"},
        BadRow{R"({"txt": "a", "label": 1})", "it has the keys 'label', 'txt'); expected {\"output\"}"},
        BadRow{"{}", "it has no keys"}, BadRow{R"({"output": 3})", "'output' is a JSON number; expected text"},
        BadRow{R"({"output": " \n"})", "the row is empty"}, BadRow{R"({"prompt": "a"})", "the row has no 'completion'"},
        BadRow{R"({"completion": "a"})", "the row has no 'prompt'"},
        BadRow{R"({"prompt": ["a"], "completion": "b"})", "'prompt' is a JSON array; expected text"},
        BadRow{R"({"prompt": "a", "completion": ""})", "the row is empty ('completion' holds no text)"},
        BadRow{R"({"messages": "hello"})", "'messages' is not a list of turns"},
        BadRow{R"({"messages": []})", "'messages' is not a list of turns"},
        BadRow{R"({"messages": ["hello"]})", "turn 1 of 'messages' is a JSON string"},
        BadRow{R"({"messages": [{"role": "user"}]})", "turn 1 of 'messages': the row has no 'content'"},
        BadRow{R"({"messages": [{"role": "user", "content": "q"}]})", "no turn of role 'assistant'"},
        BadRow{R"({"input_ids": "1 2"})", "'input_ids' is a JSON string; expected a list of token ids"},
        BadRow{R"({"input_ids": []})", "the row is empty ('input_ids' has no ids)"},
        BadRow{R"({"input_ids": [1, 2.5]})", "'input_ids' has 2.5 at position 1"},
        BadRow{R"({"input_ids": [1, -1]})", "'input_ids' has -1 at position 1; expected a token id from 0"},
        BadRow{R"({"input_ids": [-100]})", "'input_ids' has -100 at position 0"},
        BadRow{R"({"input_ids": [4294967296]})", "'input_ids' has 4294967296 at position 0"},
        BadRow{R"({"input_ids": [1, 2], "labels": [1]})", "the row has 1 labels for 2 input_ids; expected as many"},
        BadRow{R"({"input_ids": [1], "labels": [18446744073709551516]})",
               "'labels' has 18446744073709551516 at position 0; expected a token id from 0, or -100"},
        BadRow{R"({"input_ids": [1], "labels": [-1]})",
               "'labels' has -1 at position 0; expected a token id from 0, or -100"}));

class JsonlFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto directory = TemporaryDirectory::Create("rows_test");
    ASSERT_TRUE(directory.ok());
    directory_.emplace(std::move(*directory));
    path_ = directory_->path() + "/data.jsonl";
  }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  std::optional<TemporaryDirectory> directory_;
  std::string path_;
};

TEST_F(JsonlFileTest, SkipsBlankLinesAndKeepsLineNumbers) {
  Write("\n{\"output\": \"a\"}\r\n  \n{\"output\": \"b\"}");
  const auto file = JsonlFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ((*file)->size(), 2);
  EXPECT_EQ((*file)->Line(0), 2);
  EXPECT_EQ((*file)->Line(1), 4);
  EXPECT_EQ((*file)->Read(1)->text, "b");
  EXPECT_EQ((*file)->Read(1)->tokens.line, 4);
  EXPECT_EQ((*file)->content_hash(), Sha256Hex(*ReadFile(path_)));
}

TEST_F(JsonlFileTest, AnErrorNamesFileAndLine) {
  Write("{\"output\": \"a\"}\n\n{\"output\": }\n");
  const auto file = JsonlFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_THAT((*file)->Read(1).status().message(), HasSubstr("data.jsonl:3: the row is not JSON"));
}

TEST_F(JsonlFileTest, EmptyMissingAndFolderAreOneLine) {
  EXPECT_THAT(JsonlFile::Open(path_).status().message(), HasSubstr("data.jsonl"));
  Write("\n \n");
  EXPECT_THAT(JsonlFile::Open(path_).status().message(), HasSubstr("is empty"));
  EXPECT_THAT(JsonlFile::Open(directory_->path()).status().message(), HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace assay::data
