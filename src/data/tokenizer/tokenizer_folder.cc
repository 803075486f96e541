#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "data/tokenizer/tokenizer_parts.h"

namespace assay::data {
namespace {

using nlohmann::json;

struct Role {
  const char* key;
  std::optional<int32_t> SpecialTokens::* token;
  bool required;  // where it is named, it must exist
};

constexpr Role kRoles[] = {
    {"bos_token", &SpecialTokens::bos, true},
    {"eos_token", &SpecialTokens::eos, true},
    {"pad_token", &SpecialTokens::pad, false},
    {"unk_token", &SpecialTokens::unk, false},
};

// A token is written as text, or as an object with its text as "content"; empty when it is neither.
std::string TokenText(const json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end()) {
    return "";
  }
  const json& value = found->is_object() && found->contains("content") ? (*found)["content"] : *found;
  return value.is_string() ? value.get<std::string>() : "";
}

Status ReadRoles(const json& config, const std::string& source, TokenizerParts* parts) {
  for (const Role& role : kRoles) {
    const std::string text = TokenText(config, role.key);
    if (text.empty()) {
      continue;
    }
    const std::optional<int32_t> id = parts->FindToken(text);
    if (!id && role.required) {
      return Status::InvalidArgument(
          fmt::format("{}: {} '{}' is not a token of tokenizer.json beside it", source, role.key, text));
    }
    parts->special_tokens.*role.token = id ? id : parts->special_tokens.*role.token;
  }
  return Status::Ok();
}

}  // namespace

Result<Tokenizer> LoadTokenizerFolder(const std::string& folder) {
  const std::string path = folder + "/tokenizer.json";
  if (!FileExists(path)) {
    return Status::NotFound(
        fmt::format("no tokenizer.json in {}: give a folder with the tokeniser of a Hugging Face model", folder));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<TokenizerParts> parts, ReadTokenizerParts(text, path));
  for (const char* name : {"/tokenizer_config.json", "/special_tokens_map.json"}) {
    const std::string config_path = folder + name;
    if (FileExists(config_path)) {
      ASSAY_ASSIGN_OR_RETURN(const json config, ReadJsonFile(config_path));
      ASSAY_RETURN_IF_ERROR(ReadRoles(config, config_path, parts.get()));
      break;
    }
  }
  return Tokenizer(std::move(parts));
}

}  // namespace assay::data
