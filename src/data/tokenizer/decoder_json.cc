#include "data/tokenizer/component_json.h"
#include "data/tokenizer/json_fields.h"

namespace assay::data {
namespace {

using nlohmann::json;

Result<DecoderPtr> ReadStripDecoder(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string content, CharacterField(component, "content"));
  ASSAY_ASSIGN_OR_RETURN(const uint64_t start, OptionalField<uint64_t>(component, "start", 0));
  ASSAY_ASSIGN_OR_RETURN(const uint64_t stop, OptionalField<uint64_t>(component, "stop", 0));
  return MakeStripDecoder(std::move(content), start, stop);
}

Result<DecoderPtr> ReadReplaceDecoder(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string content, RequiredField<std::string>(component, "content"));
  const json pattern = component.value("pattern", json::object());
  const bool literal = pattern.contains("String");
  ASSAY_ASSIGN_OR_RETURN(const std::string text, RequiredField<std::string>(pattern, literal ? "String" : "Regex"));
  ASSAY_ASSIGN_OR_RETURN(Regex from, literal ? Regex::Literal(text) : Regex::Compile(text));
  return MakeReplaceDecoder(std::move(from), std::move(content));
}

Result<DecoderPtr> ReadMetaspaceDecoder(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string replacement, CharacterField(component, "replacement"));
  ASSAY_ASSIGN_OR_RETURN(const bool add_prefix_space, OptionalField(component, "add_prefix_space", true));
  ASSAY_ASSIGN_OR_RETURN(const std::string scheme, OptionalField<std::string>(component, "prepend_scheme",
                                                                              add_prefix_space ? "always" : "never"));
  return MakeMetaspaceDecoder(std::move(replacement),
                              scheme == "never" ? PrependScheme::kNever : PrependScheme::kAlways);
}

Result<DecoderPtr> ReadWordPieceDecoder(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string prefix, OptionalField<std::string>(component, "prefix", "##"));
  ASSAY_ASSIGN_OR_RETURN(const bool cleanup, OptionalField(component, "cleanup", true));
  return MakeWordPieceDecoder(std::move(prefix), cleanup);
}

Result<DecoderPtr> ReadBpeDecoder(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string suffix, OptionalField<std::string>(component, "suffix", "</w>"));
  return suffix.empty() ? Result<DecoderPtr>(MakeFuseDecoder()) : Result<DecoderPtr>(MakeBpeDecoder(std::move(suffix)));
}

Result<DecoderPtr> ReadCtcDecoder(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(std::string pad, OptionalField<std::string>(component, "pad_token", "<pad>"));
  ASSAY_ASSIGN_OR_RETURN(std::string delimiter, OptionalField<std::string>(component, "word_delimiter_token", "|"));
  ASSAY_ASSIGN_OR_RETURN(const bool cleanup, OptionalField(component, "cleanup", true));
  if (pad.empty() || delimiter.empty()) {
    return Status::Unsupported("an empty pad_token or word_delimiter_token");
  }
  return MakeCtcDecoder(std::move(pad), std::move(delimiter), cleanup);
}

Result<DecoderPtr> ReadSequenceDecoder(const json& component) {
  ASSAY_ASSIGN_OR_RETURN(const json* list, ListField(component, "decoders"));
  std::vector<DecoderPtr> parts;
  for (const json& part : *list) {
    ASSAY_ASSIGN_OR_RETURN(DecoderPtr decoder, ReadDecoder(part));
    parts.push_back(std::move(decoder));
  }
  return MakeDecoderSequence(std::move(parts));
}

constexpr ComponentReader<DecoderPtr> kDecoders[] = {
    {"ByteLevel", [](const json&) -> Result<DecoderPtr> { return MakeByteLevelDecoder(); }},
    {"ByteFallback", [](const json&) -> Result<DecoderPtr> { return MakeByteFallbackDecoder(); }},
    {"Fuse", [](const json&) -> Result<DecoderPtr> { return MakeFuseDecoder(); }},
    {"Strip", ReadStripDecoder},
    {"Replace", ReadReplaceDecoder},
    {"Metaspace", ReadMetaspaceDecoder},
    {"WordPiece", ReadWordPieceDecoder},
    {"BPEDecoder", ReadBpeDecoder},
    {"CTC", ReadCtcDecoder},
    {"Sequence", ReadSequenceDecoder},
};

}  // namespace

Result<DecoderPtr> ReadDecoder(const json& component) {
  return ReadComponent(component, "decoder", kDecoders);
}

}  // namespace assay::data
