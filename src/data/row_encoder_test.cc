#include "data/row_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::data {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kBos = 1;
constexpr int32_t kEos = 2;

/// One token a byte (its value plus 10), but for newlines: `joined` takes two of them as one token, as the tokenisers
/// of Llama 3 do.
class ByteEncoder final : public TextEncoder {
 public:
  explicit ByteEncoder(bool joins_newlines = false) : joins_newlines_(joins_newlines) {}
  std::vector<int32_t> Encode(std::string_view text, bool add_special_tokens) const override {
    std::vector<int32_t> ids;
    if (add_special_tokens) {
      ids.push_back(kBos);
    }
    for (size_t i = 0; i < text.size(); ++i) {
      if (joins_newlines_ && text.substr(i, 2) == "\n\n") {
        ids.push_back(9);
        ++i;
        continue;
      }
      ids.push_back(10 + static_cast<unsigned char>(text[i]));
    }
    return ids;
  }
  int64_t vocab_size() const override { return 266; }
  std::optional<int32_t> eos_id() const override { return kEos; }

 private:
  bool joins_newlines_;
};

std::string Supervised(const TokenRow& row) {
  std::string text;
  for (size_t i = 0; i < row.ids.size(); ++i) {
    EXPECT_TRUE(row.labels[i] == row.ids[i] || row.labels[i] == kMaskedLabel);
    if (row.labels[i] == kMaskedLabel) {
      continue;
    }
    text += row.ids[i] == kEos   ? std::string("<eos>")
            : row.ids[i] == kBos ? "<bos>"
                                 : std::string(1, static_cast<char>(row.ids[i] - 10));
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
  const ByteEncoder bytes;
  const RowEncoder encoder(&bytes, "R:", 100);
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "ab R: c"});
  // <bos> a b _ R : _ c <eos>
  EXPECT_THAT(row.ids, ElementsAre(1, 107, 108, 42, 92, 68, 42, 109, 2));
  EXPECT_THAT(row.labels, ElementsAre(-100, -100, -100, -100, -100, -100, 42, 109, 2));
}

TEST(RowEncoder, TheLastMatchOfTheTemplateCounts) {
  const ByteEncoder bytes;
  const RowEncoder encoder(&bytes, std::string(kDefaultResponseTemplate), 1000);
  const TokenRow row =
      EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "q\n### Response: first\n### Response: second"});
  EXPECT_EQ(Supervised(row), " second<eos>");
}

TEST(RowEncoder, LooksForTheTemplateWithoutItsFirstTwoTokensWhenTheseAreJoined) {
  const ByteEncoder joining(/*joins_newlines=*/true);
  const RowEncoder encoder(&joining, std::string(kDefaultResponseTemplate), 1000);
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "q\n\n### Response: yes"});
  EXPECT_EQ(Supervised(row), " yes<eos>");
}

TEST(RowEncoder, ATextWithoutTheTemplateIsRefused) {
  const ByteEncoder bytes;
  const RowEncoder encoder(&bytes, std::string(kDefaultResponseTemplate), 1000);
  const auto encoded = encoder.Encode({.kind = RowKind::kText, .text = "q ### Answer: yes"});
  EXPECT_THAT(encoded.status().message(), HasSubstr(R"(does not hold the response template "\n### Response:")"));
}

TEST(RowEncoder, ATemplateCutAwayLeavesTheRowMasked) {
  const ByteEncoder bytes;
  const RowEncoder encoder(&bytes, "R:", 4);
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = "abcdef R: c"});
  EXPECT_EQ(row.ids.size(), 4u);
  EXPECT_THAT(row.labels, Each(-100));
}

TEST(RowEncoder, ALongTextIsCutAndHasNoEos) {
  const ByteEncoder bytes;
  const RowEncoder encoder(&bytes, "R:", 64);
  std::string text = "a R: ";
  while (text.size() < 1'000'000) {
    text += "word ";
  }
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kText, .text = text});
  ASSERT_EQ(row.ids.size(), 64u);
  EXPECT_EQ(Supervised(row), text.substr(4, 59));
}

TEST(RowEncoder, PromptsAreMaskedAndCompletionsAreNot) {
  const ByteEncoder bytes;
  const RowEncoder encoder(&bytes, "", 100);
  const TokenRow row = EncodeOrDie(encoder, {.kind = RowKind::kPromptCompletion, .text = "ab", .completion = " c"});
  EXPECT_THAT(row.ids, ElementsAre(1, 107, 108, 42, 109, 2));
  EXPECT_THAT(row.labels, ElementsAre(-100, -100, -100, 42, 109, 2));
}

TEST(RowEncoder, ChatSupervisesWhatTheAssistantSays) {
  const ByteEncoder bytes;
  const RowEncoder encoder(&bytes, "", 1000);
  const TokenRow row = EncodeOrDie(
      encoder,
      {.kind = RowKind::kMessages,
       .messages = {{"system", "s"}, {"user", "q"}, {"assistant", "one"}, {"user", "more"}, {"assistant", "two"}}});
  EXPECT_EQ(Supervised(row), "one<|im_end|>two<|im_end|>");
  EXPECT_EQ(row.ids.front(), 10 + '<');  // no BOS
  EXPECT_EQ(row.ids.back(), 10 + '\n');  // no EOS
}

TEST(RowEncoder, ChatIsRenderedAsChatMl) {
  const ChatText chat = RenderChat({{"user", "q"}, {"assistant", "a"}});
  EXPECT_EQ(chat.text, "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n");
  ASSERT_EQ(chat.answers.size(), 1u);
  EXPECT_EQ(chat.text.substr(chat.answers[0].begin, chat.answers[0].end - chat.answers[0].begin), "a<|im_end|>");
}

TEST(RowEncoder, TokensAreTakenAsTheyAreAndNeedNoTokenizer) {
  const RowEncoder encoder(nullptr, "", 3);
  Row row{.kind = RowKind::kTokens};
  row.tokens = {{7, 8, 9, 10}, {-100, 5, 9, 10}, 12};
  const TokenRow encoded = EncodeOrDie(encoder, row);
  EXPECT_THAT(encoded.ids, ElementsAre(7, 8, 9));
  EXPECT_THAT(encoded.labels, ElementsAre(-100, 5, 9));
  EXPECT_EQ(encoded.line, 12);
}

TEST(RowEncoder, TextWithoutATokenizerIsRefused) {
  const RowEncoder encoder(nullptr, "", 3);
  EXPECT_THAT(encoder.Encode({.kind = RowKind::kText, .text = "a"}).status().message(),
              HasSubstr("there is no tokenizer"));
}

}  // namespace
}  // namespace assay::data
