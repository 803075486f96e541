#include "data/row_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/testing/byte_tokenizer.h"

namespace assay::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kBos = ByteTokenizer::kBos;
constexpr int32_t kEos = ByteTokenizer::kEos;

RowEncoder MakeEncoder(std::string response_template, int64_t max_tokens, ByteTokenizerOptions options = {}) {
  const ByteTokenizer tokenizer(options);
  auto encoder = RowEncoder::Create(tokenizer.Load(), std::move(response_template), max_tokens);
  EXPECT_TRUE(encoder.ok()) << encoder.status().message();
  return *std::move(encoder);
}

/// The tokens that are supervised, as text.
std::string Supervised(const TokenRow& row) {
  std::string text;
  for (size_t i = 0; i < row.ids.size(); ++i) {
    EXPECT_TRUE(row.labels[i] == row.ids[i] || row.labels[i] == kMaskedLabel);
    if (row.labels[i] != kMaskedLabel) {
      text += ByteTokenizer::Text(row.ids[i]);
    }
  }
  return text;
}

TokenRow EncodeOrDie(const RowEncoder& encoder, const Row& row) {
  auto encoded = encoder.Encode(row);
  EXPECT_TRUE(encoded.ok()) << encoded.status().message();
  EXPECT_EQ(encoded->ids.size(), encoded->labels.size());
  return encoded.ok() ? *std::move(encoded) : TokenRow{};
}

TEST(RowEncoder, MasksTextUpToAndIncludingTheTemplate) {
  const RowEncoder encoder = MakeEncoder("R:", 100);
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "ab R: c"});
  // <s> a b _ R : _ c </s>
  EXPECT_THAT(row.ids, ElementsAre(kBos, 'a', 'b', ' ', 'R', ':', ' ', 'c', kEos));
  EXPECT_THAT(row.labels, ElementsAre(-100, -100, -100, -100, -100, -100, ' ', 'c', kEos));
}

TEST(RowEncoder, TheLastMatchOfTheTemplateCounts) {
  const RowEncoder encoder = MakeEncoder(std::string(kDefaultResponseTemplate), 1000);
  const TokenRow row =
      EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "q\n### Response: first\n### Response: second"});
  EXPECT_EQ(Supervised(row), " second</s>");
}

TEST(RowEncoder, LooksForTheTemplateWithoutItsFirstTwoTokensWhenTheseAreJoined) {
  const RowEncoder encoder = MakeEncoder(std::string(kDefaultResponseTemplate), 1000, {.joins_newlines = true});
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "q\n\n### Response: yes"});
  EXPECT_EQ(Supervised(row), " yes</s>");
}

TEST(RowEncoder, ATextWithoutTheTemplateIsRefused) {
  const RowEncoder encoder = MakeEncoder(std::string(kDefaultResponseTemplate), 1000);
  const auto encoded = encoder.Encode({.kind = RowKind::kText, .text = "q ### Answer: yes"});
  EXPECT_THAT(encoded.status().message(), HasSubstr(R"(does not hold the response template "\n### Response:")"));
}

TEST(RowEncoder, ATemplateCutAwayLeavesTheRowMasked) {
  const RowEncoder encoder = MakeEncoder("R:", 4);
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "abcdef R: c"});
  EXPECT_EQ(row.ids.size(), 4u);
  EXPECT_THAT(row.labels, Each(-100));
}

TEST(RowEncoder, ALongTextIsCutAndHasNoEos) {
  const RowEncoder encoder = MakeEncoder("R:", 64);
  std::string text = "a R: ";
  while (text.size() < 1'000'000) {
    text += "word ";
  }
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = text});
  ASSERT_EQ(row.ids.size(), 64u);
  EXPECT_EQ(Supervised(row), text.substr(4, 59));
}

TEST(RowEncoder, PromptsAreMaskedAndCompletionsAreNot) {
  const RowEncoder encoder = MakeEncoder("", 100);
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kPromptCompletion, .text = "ab", .completion = " c"});
  EXPECT_THAT(row.ids, ElementsAre(kBos, 'a', 'b', ' ', 'c', kEos));
  EXPECT_THAT(row.labels, ElementsAre(-100, -100, -100, ' ', 'c', kEos));
}

TEST(RowEncoder, ChatSupervisesWhatTheAssistantSays) {
  const RowEncoder encoder = MakeEncoder("", 1000);
  const TokenRow row = EncodeOrDie(
      encoder,
      {.kind = RowKind::kMessages,
       .messages = {{"system", "s"}, {"user", "q"}, {"assistant", "one"}, {"user", "more"}, {"assistant", "two"}}});
  EXPECT_EQ(Supervised(row), "one<|im_end|>two<|im_end|>");
  EXPECT_EQ(row.ids.front(), ByteTokenizer::kTurnStart);  // no BOS
  EXPECT_EQ(row.ids.back(), '\n');                        // no EOS
}

TEST(RowEncoder, ChatIsRenderedAsChatMl) {
  const ChatText chat = RenderChat({{"user", "q"}, {"assistant", "a"}});
  EXPECT_EQ(chat.text, "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n");
  ASSERT_EQ(chat.answers.size(), 1u);
  EXPECT_EQ(chat.text.substr(chat.answers[0].begin, chat.answers[0].end - chat.answers[0].begin), "a<|im_end|>");
}

TEST(RowEncoder, TokensAreTakenAsTheyAreAndNeedNoTokenizer) {
  const RowEncoder encoder = *RowEncoder::Create(std::nullopt, "", 3);
  Row row{.kind = RowKind::kTokens};
  row.tokens = {{7, 8, 9, 10}, {-100, 5, 9, 10}, 12};
  const TokenRow encoded = EncodeOrDie(encoder, row);
  EXPECT_THAT(encoded.ids, ElementsAre(7, 8, 9));
  EXPECT_THAT(encoded.labels, ElementsAre(-100, 5, 9));
  EXPECT_EQ(encoded.line, 12);
}

TEST(RowEncoder, TextWithoutATokenizerIsRefused) {
  const RowEncoder encoder = *RowEncoder::Create(std::nullopt, "", 3);
  EXPECT_THAT(encoder.Encode({.kind = RowKind::kText, .text = "a"}).status().message(),
              HasSubstr("there is no tokenizer"));
}

}  // namespace
}  // namespace assay::data
