#include <optional>

#include "data/tokenizer/component_json.h"
#include "data/tokenizer/json_fields.h"
#include "data/tokenizer/precompiled_normalizer.h"

namespace assay::data {
namespace {

using nlohmann::json;

template <UnicodeForm kForm>
Result<NormalizerPtr> ReadUnicodeForm(const json&) {
  return MakeUnicodeNormalizer(kForm);
}

Result<NormalizerPtr> ReadStripNormalizer(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const bool left, OptionalField(component, "strip_left", true));
  ASSAY_ASSIGN_OR_RETURN(const bool right, OptionalField(component, "strip_right", true));
  return MakeStripNormalizer(left, right);
}

Result<NormalizerPtr> ReadPrependNormalizer(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string prefix, RequiredField<std::string>(component, "prepend"));
  return MakePrependNormalizer(std::move(prefix));
}

Result<NormalizerPtr> ReadReplaceNormalizer(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string content, RequiredField<std::string>(component, "content"));
  const json pattern = component.value("pattern", json::object());
  if (pattern.contains("String")) {
    ASSAY_ASSIGN_OR_RETURN(std::string from, RequiredField<std::string>(pattern, "String"));
    if (from.empty()) {
      return Status::Unsupported("an empty pattern");
    }
    return MakeReplaceNormalizer(std::move(from), std::move(content));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string expression, RequiredField<std::string>(pattern, "Regex"));
  ASSAY_ASSIGN_OR_RETURN(Regex from, Regex::Compile(expression));
  return MakeReplaceNormalizer(std::move(from), std::move(content));
}

Result<NormalizerPtr> ReadBertNormalizer(const json& component) {
  BertNormalizerOptions options;
  ASSAY_ASSIGN_OR_RETURN(options.clean_text, OptionalField(component, "clean_text", true));
  ASSAY_ASSIGN_OR_RETURN(options.handle_chinese_chars, OptionalField(component, "handle_chinese_chars", true));
  ASSAY_ASSIGN_OR_RETURN(options.lowercase, OptionalField(component, "lowercase", true));
  ASSAY_ASSIGN_OR_RETURN(options.strip_accents, OptionalField(component, "strip_accents", options.lowercase));
  return MakeBertNormalizer(options);
}

Result<NormalizerPtr> ReadPrecompiledNormalizer(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const std::string map, RequiredField<std::string>(component, "precompiled_charsmap"));
  return MakePrecompiledNormalizer(map);
}

Result<NormalizerPtr> ReadSequenceNormalizer(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const json* list, ListField(component, "normalizers"));
  std::vector<NormalizerPtr> parts;
  for (const json& part : *list) {
    ASSAY_ASSIGN_OR_RETURN(NormalizerPtr normalizer, ReadNormalizer(part));
    parts.push_back(std::move(normalizer));
  }
  return MakeNormalizerSequence(std::move(parts));
}

constexpr ComponentReader<NormalizerPtr> kNormalizers[] = {
    {"NFC", ReadUnicodeForm<UnicodeForm::kNfc>},
    {"NFD", ReadUnicodeForm<UnicodeForm::kNfd>},
    {"NFKC", ReadUnicodeForm<UnicodeForm::kNfkc>},
    {"NFKD", ReadUnicodeForm<UnicodeForm::kNfkd>},
    {"Lowercase", [](const json&) -> Result<NormalizerPtr> { return MakeLowercaseNormalizer(); }},
    {"StripAccents", [](const json&) -> Result<NormalizerPtr> { return MakeStripAccentsNormalizer(); }},
    {"Nmt", [](const json&) -> Result<NormalizerPtr> { return MakeNmtNormalizer(); }},
    {"ByteLevel", [](const json&) -> Result<NormalizerPtr> { return MakeByteLevelNormalizer(); }},
    {"Strip", ReadStripNormalizer},
    {"Prepend", ReadPrependNormalizer},
    {"Replace", ReadReplaceNormalizer},
    {"BertNormalizer", ReadBertNormalizer},
    {"Precompiled", ReadPrecompiledNormalizer},
    {"Sequence", ReadSequenceNormalizer},
};

}  // namespace

Result<NormalizerPtr> ReadNormalizer(const json& component) {
  return ReadComponent(component, "normalizer", kNormalizers);
}

}  // namespace assay::data
