// Text out of tokens as they come.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/tokenizer.h"

namespace assay::data {

/// The text that tokens put behind a prompt, in pieces of whole characters: a token may hold half of one. Special
/// tokens are left out.
class TextStream {
 public:
  static Result<TextStream> Create(Tokenizer tokenizer, std::vector<int32_t> prompt_ids);

  /// What is certain since the call before.
  Result<std::string> Add(int32_t id);
  /// What was held back.
  Result<std::string> Finish();

 private:
  TextStream(Tokenizer tokenizer, std::vector<int32_t> ids) : tokenizer_(std::move(tokenizer)), ids_(std::move(ids)) {}

  Result<std::string> Text() const { return tokenizer_.Decode(ids_, /*skip_special_tokens=*/true); }

  Tokenizer tokenizer_;
  std::vector<int32_t> ids_;
  size_t told_bytes_ = 0;
};

/// The text that `ids` put behind `prompt_ids`, at once.
Result<std::string> TextBehind(const Tokenizer& tokenizer, const std::vector<int64_t>& prompt_ids,
                               const std::vector<int64_t>& ids);

}  // namespace assay::data
