#include "data/prompt_text.h"

#include <fmt/format.h>

#include "data/tokenizer/tokenizer.h"

namespace assay::data {

Result<std::vector<int64_t>> TokenizePromptText(const ModelRef& model, std::string_view text) {
  if (model.tokenizer_dir.empty()) {
    return Status::InvalidArgument(fmt::format("a prompt cannot start as the text '{}': {}", text, model.no_tokenizer));
  }
  ASSAY_ASSIGN_OR_RETURN(const Tokenizer tokenizer, LoadTokenizerFolder(model.tokenizer_dir));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.Encode(text, /*add_special_tokens=*/true));
  if (ids.empty()) {
    return Status::InvalidArgument(
        "a prompt cannot start as a text without tokens: give it some, or let it start at random");
  }
  return std::vector<int64_t>(ids.begin(), ids.end());
}

}  // namespace assay::data
