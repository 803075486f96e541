#include "data/text_prompt.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "data/chat_template.h"
#include "data/tokenizer/tokenizer.h"

namespace assay::data {
namespace {

constexpr char kEosKey[] = "eos_token_id";

/// One id or several; none where the file, or the key, is not there.
Result<std::vector<int64_t>> EosIdsOf(const std::string& path) {
  std::vector<int64_t> ids;
  if (!FileExists(path)) {
    return ids;
  }
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json config, ReadJsonFile(path));
  if (!config.is_object() || !config.contains(kEosKey)) {
    return ids;
  }
  if (config[kEosKey].is_number_integer()) {
    return std::vector<int64_t>{config[kEosKey].get<int64_t>()};
  }
  ASSAY_RETURN_IF_ERROR(ReadField(config, kEosKey, ids).WithContext(path));
  return ids;
}

Result<std::vector<int64_t>> EosIds(const ModelRef& model, const Tokenizer& tokenizer) {
  for (const char* file : {"/generation_config.json", "/config.json"}) {
    ASSAY_ASSIGN_OR_RETURN(std::vector<int64_t> ids, EosIdsOf(model.dir + file));
    if (!ids.empty()) {
      return ids;
    }
  }
  const std::optional<int32_t> own = tokenizer.special_tokens().eos;
  return own ? std::vector<int64_t>{*own} : std::vector<int64_t>();
}

/// What a model reads before it answers a user's `text`.
Result<std::string> InTemplate(const ModelRef& model, const std::string& text) {
  ASSAY_ASSIGN_OR_RETURN(const auto chat, ChatTemplate::Open(model.tokenizer_dir));
  if (chat == nullptr) {
    return Status::InvalidArgument(
        fmt::format("the tokeniser in {} has no chat template: give the text as it is", model.tokenizer_dir));
  }
  return chat->RenderPrompt({{"user", text}});
}

}  // namespace

Result<job::TextSample> BeginText(const ModelRef& model, const std::string& text, bool is_chat) {
  if (model.tokenizer_dir.empty()) {
    return Status::InvalidArgument(fmt::format("a text cannot begin with '{}': {}", text, model.no_tokenizer));
  }
  ASSAY_ASSIGN_OR_RETURN(const Tokenizer tokenizer, LoadTokenizerFolder(model.tokenizer_dir));
  ASSAY_RETURN_IF_ERROR(CheckVocabulary(model.vocab_size, tokenizer.vocab_size()));
  ASSAY_ASSIGN_OR_RETURN(const std::string whole, is_chat ? InTemplate(model, text) : Result(text));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, tokenizer.Encode(whole, /*add_special_tokens=*/!is_chat));
  if (ids.empty()) {
    return Status::InvalidArgument("a text cannot begin with nothing: the prompt has no tokens");
  }
  job::TextSample sample;
  sample.prompt_ids.assign(ids.begin(), ids.end());
  sample.tokenizer = model.tokenizer_dir;
  ASSAY_ASSIGN_OR_RETURN(sample.eos_ids, EosIds(model, tokenizer));
  return sample;
}

}  // namespace assay::data
