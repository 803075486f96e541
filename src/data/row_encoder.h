// From rows of text to token ids and labels: which tokens a model learns from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/chat_template.h"
#include "data/rows.h"
#include "data/tokenizer/tokenizer.h"

namespace assay::data {

/// The template of the reference trainer, which parts prompt and response of a kText row.
inline constexpr std::string_view kDefaultResponseTemplate = "\n### Response:";

/// A conversation as ChatML, "<|im_start|>role\ncontent<|im_end|>\n" a turn: what a tokeniser without a chat template
/// of its own gets. Answers are each assistant turn's content and its <|im_end|>.
ChatText RenderChat(const std::vector<Message>& messages);

/// Turns rows into ids and labels. Labels, by kind (masked tokens are kMaskedLabel):
/// - kText: masked up to and including the last match of the response template's ids in the row, as trl's
///   DataCollatorForCompletionOnlyLM does; where a tokeniser joins the template's first characters with the text before
///   it and there is no match, its ids without the first two are looked for, as fms-hf-tuning does. EOS is appended.
/// - kPromptCompletion: as many tokens masked as the prompt alone has, as trl's SFTTrainer does. EOS is appended.
/// - kMessages: all masked but the answers that the tokeniser's chat template, or else RenderChat, says there are. No
///   special token is added to the text of either.
/// - kTokens: taken as they are.
/// Immutable; safe from several threads.
class RowEncoder {
 public:
  /// Rows are cut to `max_tokens`: of a text that is much longer only as much as that needs is tokenised. Without a
  /// tokeniser only kTokens rows can be encoded.
  static Result<RowEncoder> Create(std::optional<Tokenizer> tokenizer, std::string response_template,
                                   int64_t max_tokens, std::shared_ptr<const ChatTemplate> chat = nullptr);
  /// With the tokeniser of a folder and its chat template, if it has one; an empty name is no tokeniser.
  static Result<RowEncoder> Open(const std::string& tokenizer_dir, std::string response_template, int64_t max_tokens);

  /// Fails when a kText row does not hold the response template, and when a row of text comes without a tokeniser.
  Result<TokenRow> Encode(const Row& row) const;

  /// As Tokenizer has it; 0 without one.
  int64_t vocab_size() const { return tokenizer_ ? tokenizer_->vocab_size() : 0; }

 private:
  struct Ids {
    std::vector<int32_t> ids;
    bool complete;  ///< the whole text is in `ids`
  };

  RowEncoder(std::optional<Tokenizer> tokenizer, std::string response_template, int64_t max_tokens,
             std::shared_ptr<const ChatTemplate> chat)
      : tokenizer_(std::move(tokenizer)),
        response_template_(std::move(response_template)),
        max_tokens_(static_cast<size_t>(max_tokens)),
        chat_(std::move(chat)) {}

  Result<Ids> EncodeUpTo(std::string_view text, bool add_special_tokens) const;
  Result<TokenRow> EncodeText(const Row& row) const;
  Result<TokenRow> EncodePromptCompletion(const Row& row) const;
  Result<TokenRow> EncodeMessages(const Row& row) const;
  int64_t FindResponse(const std::vector<int32_t>& ids) const;
  void AppendEos(Ids& encoded) const;

  std::optional<Tokenizer> tokenizer_;
  std::string response_template_;
  std::vector<int32_t> template_ids_;
  size_t max_tokens_;
  std::shared_ptr<const ChatTemplate> chat_;  ///< null: ChatML
};

}  // namespace assay::data
