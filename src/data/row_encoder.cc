#include "data/row_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/json.h"

namespace assay::data {
namespace {

/// Bytes of text that are tokenised at first for each token that is asked for; prose has 3 to 5.
constexpr size_t kBytesPerToken = 12;
/// Ids this close to the end of a cut text may differ from those of the whole text, and are not used.
constexpr size_t kCutMargin = 64;

/// The longest prefix of `text` of at most `size` bytes that ends before a space which parts two words, or all of it.
std::string_view CutBetweenWords(std::string_view text, size_t size) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  for (size_t i = std::min(size, text.size() - 1); i > 0; --i) {
    if (text[i] == ' ' && !is_space(text[i - 1]) && !is_space(text[i + 1])) {
      return text.substr(0, i);
    }
  }
  return text;
}

/// Position behind the last match of `pattern` in `ids`, or -1.
int64_t EndOfLastMatch(std::span<const int32_t> ids, std::span<const int32_t> pattern) {
  if (pattern.empty()) {
    return -1;
  }
  const auto match = std::ranges::find_end(ids, pattern);
  return match.empty() ? -1 : match.end() - ids.begin();
}

int64_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

/// A row whose tokens before `first_supervised` are masked.
TokenRow WithLabelsFrom(std::vector<int32_t> ids, int64_t first_supervised) {
  TokenRow row{.ids = std::move(ids)};
  row.labels = row.ids;
  const auto masked = std::min<int64_t>(first_supervised, static_cast<int64_t>(row.labels.size()));
  std::fill_n(row.labels.begin(), masked, kMaskedLabel);
  return row;
}

}  // namespace

ChatText RenderChat(const std::vector<Message>& messages) {
  ChatText chat;
  for (const Message& message : messages) {
    chat.text += "<|im_start|>" + message.role + "\n";
    const size_t begin = chat.text.size();
    chat.text += message.content + "<|im_end|>";
    if (message.role == "assistant") {
      chat.answers.push_back({begin, chat.text.size()});
    }
    chat.text += "\n";
  }
  return chat;
}

Result<RowEncoder> RowEncoder::Create(std::optional<Tokenizer> tokenizer, std::string response_template,
                                      int64_t max_tokens, std::shared_ptr<const ChatTemplate> chat) {
  RowEncoder encoder(std::move(tokenizer), std::move(response_template), max_tokens, std::move(chat));
  if (encoder.tokenizer_) {
    ASSAY_ASSIGN_OR_RETURN(encoder.template_ids_, encoder.tokenizer_->Encode(encoder.response_template_, false));
  }
  return encoder;
}

Result<RowEncoder> RowEncoder::Open(const std::string& tokenizer_dir, std::string response_template,
                                    int64_t max_tokens) {
  if (tokenizer_dir.empty()) {
    return Create(std::nullopt, std::move(response_template), max_tokens);
  }
  ASSAY_ASSIGN_OR_RETURN(Tokenizer tokenizer, LoadTokenizerFolder(tokenizer_dir));
  ASSAY_ASSIGN_OR_RETURN(auto chat, ChatTemplate::Open(tokenizer_dir));
  return Create(std::move(tokenizer), std::move(response_template), max_tokens, std::move(chat));
}

Result<TokenRow> RowEncoder::Encode(const Row& row) const {
  if (row.kind != RowKind::kTokens && !tokenizer_) {
    return Status::InvalidArgument("the row is text and there is no tokenizer; give a folder with tokenizer.json");
  }
  Result<TokenRow> encoded = [&]() -> Result<TokenRow> {
    switch (row.kind) {
      case RowKind::kText:
        return EncodeText(row);
      case RowKind::kPromptCompletion:
        return EncodePromptCompletion(row);
      case RowKind::kMessages:
        return EncodeMessages(row);
      case RowKind::kTokens:
        break;
    }
    return row.tokens;
  }();
  if (!encoded.ok()) {
    return encoded;
  }
  if (encoded->ids.empty()) {
    return Status::InvalidArgument("the row is empty (its text has no tokens)");
  }
  const size_t length = std::min(encoded->ids.size(), max_tokens_);
  encoded->ids.resize(length);
  encoded->labels.resize(length);
  encoded->line = row.tokens.line;
  return encoded;
}

Result<RowEncoder::Ids> RowEncoder::EncodeUpTo(std::string_view text, bool add_special_tokens) const {
  for (size_t size = max_tokens_ * kBytesPerToken + 4096; size < text.size(); size *= 2) {
    const std::string_view head = CutBetweenWords(text, size);
    ASSAY_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer_->Encode(head, add_special_tokens));
    if (head.size() < text.size() && ids.size() >= max_tokens_ + kCutMargin) {
      ids.resize(max_tokens_);
      return Ids{std::move(ids), /*complete=*/false};
    }
  }
  ASSAY_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer_->Encode(text, add_special_tokens));
  return Ids{std::move(ids), /*complete=*/true};
}

void RowEncoder::AppendEos(Ids& encoded) const {
  const std::optional<int32_t> eos = tokenizer_->special_tokens().eos;
  if (encoded.complete && eos && (encoded.ids.empty() || encoded.ids.back() != *eos)) {
    encoded.ids.push_back(*eos);
  }
}

int64_t RowEncoder::FindResponse(const std::vector<int32_t>& ids) const {
  const std::span<const int32_t> pattern(template_ids_);
  const int64_t end = EndOfLastMatch(ids, pattern);
  return end >= 0 || pattern.size() <= 2 ? end : EndOfLastMatch(ids, pattern.subspan(2));
}

Result<TokenRow> RowEncoder::EncodeText(const Row& row) const {
  const std::string quoted = DumpJson(response_template_);
  if (row.text.find(response_template_) == std::string::npos) {
    return Status::InvalidArgument(fmt::format(
        "the row does not hold the response template {}; expected it between prompt and response (or choose the "
        "template that the data uses)",
        quoted));
  }
  ASSAY_ASSIGN_OR_RETURN(Ids encoded, EncodeUpTo(row.text, /*add_special_tokens=*/true));
  // As the reference does, the match is looked for in what is left after truncation.
  const bool whole = encoded.complete && encoded.ids.size() <= max_tokens_;
  AppendEos(encoded);
  encoded.ids.resize(std::min(encoded.ids.size(), max_tokens_));
  const int64_t response = FindResponse(encoded.ids);
  if (response < 0 && whole) {
    return Status::InvalidArgument(
        fmt::format("the response template {} stands in the row's text but its tokens are not among the row's: this "
                    "tokenizer joins "
                    "it with its neighbours; choose a template that starts and ends between tokens",
                    quoted));
  }
  return WithLabelsFrom(std::move(encoded.ids), response < 0 ? INT64_MAX : response);
}

Result<TokenRow> RowEncoder::EncodePromptCompletion(const Row& row) const {
  ASSAY_ASSIGN_OR_RETURN(const Ids prompt, EncodeUpTo(row.text, /*add_special_tokens=*/true));
  ASSAY_ASSIGN_OR_RETURN(Ids encoded, EncodeUpTo(row.text + row.completion, /*add_special_tokens=*/true));
  AppendEos(encoded);
  return WithLabelsFrom(std::move(encoded.ids), static_cast<int64_t>(prompt.ids.size()));
}

Result<TokenRow> RowEncoder::EncodeMessages(const Row& row) const {
  ASSAY_ASSIGN_OR_RETURN(const ChatText chat,
                         chat_ != nullptr ? chat_->Render(row.messages) : Result(RenderChat(row.messages)));
  ASSAY_ASSIGN_OR_RETURN(Ids encoded, EncodeUpTo(chat.text, /*add_special_tokens=*/false));
  TokenRow result = WithLabelsFrom(std::move(encoded.ids), INT64_MAX);
  // The number of whole tokens in front of a byte of the text: a token that spans it belongs to what follows.
  const auto tokens_before = [&](size_t byte) -> Result<int64_t> {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                           tokenizer_->Encode(std::string_view(chat.text).substr(0, byte), false));
    return CommonPrefix(ids, result.ids);
  };
  for (const ChatText::Span& answer : chat.answers) {
    ASSAY_ASSIGN_OR_RETURN(const int64_t begin, tokens_before(answer.begin));
    if (begin >= static_cast<int64_t>(max_tokens_)) {
      break;
    }
    ASSAY_ASSIGN_OR_RETURN(const int64_t end, tokens_before(answer.end));
    std::copy(result.ids.begin() + begin, result.ids.begin() + end, result.labels.begin() + begin);
  }
  return result;
}

}  // namespace assay::data
