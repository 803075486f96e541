#include "data/tokenizer/component_json.h"
#include "data/tokenizer/json_fields.h"

namespace assay::data {
namespace {

using nlohmann::json;

// "cls" and "sep" are ["[CLS]", 101].
Result<int32_t> ReadTokenPair(const json& component, std::string_view key) {
  const auto found = component.find(key);
  const bool pair = found != component.end() && found->is_array() && found->size() == 2;
  const std::optional<int32_t> id = pair ? ReadTokenId((*found)[1]) : std::nullopt;
  return id ? Result<int32_t>(*id) : Status::InvalidArgument(fmt::format("'{}' must be a token and its id", key));
}

Result<PostProcessor> ReadBert(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const int32_t cls, ReadTokenPair(component, "cls"));
  ASSAY_ASSIGN_OR_RETURN(const int32_t sep, ReadTokenPair(component, "sep"));
  return PostProcessor{{cls}, {sep}};
}

Result<std::vector<int32_t>> SpecialTokenIds(const json& component, const std::string& name) {
  const json tokens = component.value("special_tokens", json::object());
  const auto found = tokens.find(name);
  if (found == tokens.end() || !found->is_object()) {
    return Status::InvalidArgument(fmt::format("the template's token '{}' is not among its special_tokens", name));
  }
  ASSAY_ASSIGN_OR_RETURN(const json* list, ListField(*found, "ids"));
  std::vector<int32_t> ids;
  for (const json& value : *list) {
    const std::optional<int32_t> id = ReadTokenId(value);
    if (!id) {
      return Status::InvalidArgument(
          fmt::format("the template's token '{}' has the id {}, which is not a token id", name, DumpJson(value)));
    }
    ids.push_back(*id);
  }
  return ids;
}

Result<PostProcessor> ReadTemplate(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const json* pieces, ListField(component, "single"));
  PostProcessor around;
  int sequences = 0;
  for (const json& piece : *pieces) {
    if (piece.is_object() && piece.contains("Sequence")) {
      ++sequences;
      continue;
    }
    const json special = piece.is_object() ? piece.value("SpecialToken", json::object()) : json::object();
    ASSAY_ASSIGN_OR_RETURN(const std::string name, RequiredField<std::string>(special, "id"));
    ASSAY_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, SpecialTokenIds(component, name));
    std::vector<int32_t>& side = sequences == 0 ? around.before : around.after;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (sequences != 1) {
    return Status::Unsupported(fmt::format("a single-text template with {} sequences", sequences));
  }
  return around;
}

Result<PostProcessor> ReadSequenceProcessor(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const json* list, ListField(component, "processors"));
  PostProcessor around;
  for (const json& part : *list) {
    ASSAY_ASSIGN_OR_RETURN(const PostProcessor outer, ReadPostProcessor(part));
    around.before.insert(around.before.begin(), outer.before.begin(), outer.before.end());
    around.after.insert(around.after.end(), outer.after.begin(), outer.after.end());
  }
  return around;
}

constexpr ComponentReader<PostProcessor> kPostProcessors[] = {
    // Moves offsets only.
    {"ByteLevel", [](const json&) -> Result<PostProcessor> { return PostProcessor{}; }},
    {"TemplateProcessing", ReadTemplate},
    {"BertProcessing", ReadBert},
    {"RobertaProcessing", ReadBert},
    {"Sequence", ReadSequenceProcessor},
};

}  // namespace

Result<PostProcessor> ReadPostProcessor(const json& component) {
  return ReadComponent(component, "post_processor", kPostProcessors);
}

}  // namespace assay::data
