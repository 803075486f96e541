#include "data/tokenizer/model_json.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "data/tokenizer/bpe_model.h"
#include "data/tokenizer/byte_alphabet.h"
#include "data/tokenizer/json_fields.h"
#include "data/tokenizer/unigram_model.h"
#include "data/tokenizer/word_models.h"

namespace assay::data {
namespace {

using nlohmann::json;
using ModelPtr = std::unique_ptr<const Model>;

Result<Vocabulary> ReadVocabulary(const json& model) {
  const auto found = model.find("vocab");
  if (found == model.end() || !found->is_object()) {
    return Status::InvalidArgument("'vocab' must be an object of tokens and ids");
  }
  Vocabulary vocabulary;
  for (const auto& [token, id] : found->items()) {
    const std::optional<int32_t> value = ReadTokenId(id);
    if (!value) {
      return Status::InvalidArgument(
          fmt::format("token '{}' has the id {}, which is not a token id", token, DumpJson(id)));
    }
    if (const std::string* other = vocabulary.Token(*value)) {
      return Status::InvalidArgument(
          fmt::format("tokens '{}' and '{}' both have the id {}; take the one that is not used out of 'vocab'", *other,
                      token, *value));
    }
    vocabulary.Add(token, *value);
  }
  return vocabulary;
}

// A merge is "a b" or ["a", "b"].
std::optional<Merge> ReadMerge(const json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return Merge{merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (!merge.is_string()) {
    return std::nullopt;
  }
  const auto& text = merge.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    return std::nullopt;
  }
  return Merge{text.substr(0, space), text.substr(space + 1)};
}

Result<std::vector<Merge>> ReadMerges(const json& model) {
  ASSAY_ASSIGN_OR_RETURN(const json* list, ListField(model, "merges"));
  std::vector<Merge> merges;
  merges.reserve(list->size());
  for (const json& entry : *list) {
    if (entry.is_string() && entry.get_ref<const std::string&>().starts_with("#version")) {
      continue;
    }
    std::optional<Merge> merge = ReadMerge(entry);
    if (!merge) {
      return Status::InvalidArgument(fmt::format("merge {} is not two tokens: {}", merges.size(), DumpJson(entry)));
    }
    merges.push_back(*std::move(merge));
  }
  return merges;
}

Result<ModelPtr> ReadBpe(const json& model, bool byte_level) {
  ASSAY_ASSIGN_OR_RETURN(const double dropout, OptionalField(model, "dropout", 0.0));
  if (dropout != 0.0) {
    return Status::Unsupported(fmt::format("dropout {} makes ids random; set it to null", dropout));
  }
  BpeOptions options;
  options.byte_level = byte_level;
  ASSAY_RETURN_IF_ERROR(ReadField(model, "unk_token", options.unknown_token));
  ASSAY_RETURN_IF_ERROR(ReadField(model, "continuing_subword_prefix", options.continuing_subword_prefix));
  ASSAY_RETURN_IF_ERROR(ReadField(model, "end_of_word_suffix", options.end_of_word_suffix));
  ASSAY_RETURN_IF_ERROR(ReadField(model, "fuse_unk", options.fuse_unknown));
  ASSAY_RETURN_IF_ERROR(ReadField(model, "byte_fallback", options.byte_fallback));
  ASSAY_RETURN_IF_ERROR(ReadField(model, "ignore_merges", options.ignore_merges));
  ASSAY_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(model));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<Merge> merges, ReadMerges(model));
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<const BpeModel> bpe,
                         BpeModel::Create(std::move(vocabulary), merges, std::move(options)));
  return ModelPtr(std::move(bpe));
}

// `score` as serde_json reads it: the digits as an integer, then one division, with two roundings where an exact reader
// has one. The last bit decides between cuts of equal score. The digits are those of the shortest text of the number,
// which is what files are written with.
double RoundedTwice(double score) {
  const std::string text = fmt::format("{}", std::abs(score));
  uint64_t significand = 0;
  int exponent = 0;
  bool fraction = false;
  size_t i = 0;
  for (; i < text.size() && text[i] != 'e'; ++i) {
    if (text[i] == '.') {
      fraction = true;
    } else {
      significand = significand * 10 + static_cast<uint64_t>(text[i] - '0');
      exponent -= fraction ? 1 : 0;
    }
  }
  exponent += i < text.size() ? std::atoi(text.c_str() + i + 1) : 0;
  const double power = std::pow(10.0, std::abs(exponent));
  const auto digits = static_cast<double>(significand);
  return std::copysign(exponent < 0 ? digits / power : digits * power, score);
}

Result<ModelPtr> ReadUnigram(const json& model) {
  ASSAY_ASSIGN_OR_RETURN(const json* list, ListField(model, "vocab"));
  std::vector<std::pair<std::string, double>> pieces;
  pieces.reserve(list->size());
  for (const json& entry : *list) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return Status::InvalidArgument(
          fmt::format("piece {} is not a token and its score: {}", pieces.size(), DumpJson(entry)));
    }
    pieces.emplace_back(entry[0].get<std::string>(), RoundedTwice(entry[1].get<double>()));
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t unknown, OptionalField<int64_t>(model, "unk_id", -1));
  ASSAY_ASSIGN_OR_RETURN(const bool byte_fallback, OptionalField(model, "byte_fallback", false));
  const bool absent = !model.contains("unk_id") || model["unk_id"].is_null();
  const auto unknown_id = static_cast<int32_t>(std::min<int64_t>(unknown, std::numeric_limits<int32_t>::max()));
  ASSAY_ASSIGN_OR_RETURN(
      std::unique_ptr<const UnigramModel> unigram,
      UnigramModel::Create(pieces, absent ? std::nullopt : std::optional<int32_t>(unknown_id), byte_fallback));
  return ModelPtr(std::move(unigram));
}

Result<ModelPtr> ReadWordPieceModel(const json& model) {
  WordPieceOptions options;
  ASSAY_ASSIGN_OR_RETURN(options.unknown_token, OptionalField<std::string>(model, "unk_token", "[UNK]"));
  ASSAY_ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                         OptionalField<std::string>(model, "continuing_subword_prefix", "##"));
  ASSAY_ASSIGN_OR_RETURN(options.max_characters, OptionalField<int64_t>(model, "max_input_chars_per_word", 100));
  ASSAY_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(model));
  return ModelPtr(std::make_unique<WordPieceModel>(std::move(vocabulary), std::move(options)));
}

Result<ModelPtr> ReadWordLevel(const json& model) {
  ASSAY_ASSIGN_OR_RETURN(std::string unknown, OptionalField<std::string>(model, "unk_token", "<unk>"));
  ASSAY_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(model));
  return ModelPtr(std::make_unique<WordLevelModel>(std::move(vocabulary), std::move(unknown)));
}

// Old files have no "type".
std::string ModelType(const json& model) {
  if (model.contains("type") && model["type"].is_string()) {
    return model["type"].get<std::string>();
  }
  if (model.contains("merges")) {
    return "BPE";
  }
  if (model.contains("vocab") && model["vocab"].is_array()) {
    return "Unigram";
  }
  return model.contains("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

Result<ModelPtr> ReadModelOfType(const std::string& type, const json& model, bool byte_level) {
  if (type == "BPE") {
    return ReadBpe(model, byte_level);
  }
  if (type == "Unigram") {
    return ReadUnigram(model);
  }
  if (type == "WordPiece") {
    return ReadWordPieceModel(model);
  }
  if (type == "WordLevel") {
    return ReadWordLevel(model);
  }
  return Status::Unsupported("is not supported");
}

}  // namespace

bool ModelTakesBytes(const json& model) {
  const auto empty_text = [&](const char* key) {
    return !model.contains(key) || model[key].is_null() || model[key] == "";
  };
  if (!model.is_object() || ModelType(model) != "BPE" || !model.contains("vocab") || !model["vocab"].is_object() ||
      !empty_text("continuing_subword_prefix") || !empty_text("end_of_word_suffix")) {
    return false;
  }
  const json& vocab = model["vocab"];
  for (int byte = 0; byte < 256; ++byte) {
    if (!vocab.contains(ToByteAlphabet(std::string(1, static_cast<char>(byte))))) {
      return false;
    }
  }
  return true;
}

Result<ModelPtr> ReadModel(const json& model, bool byte_level) {
  if (!model.is_object()) {
    return Status::InvalidArgument("'model' must be an object");
  }
  const std::string type = ModelType(model);
  Result<ModelPtr> read = ReadModelOfType(type, model, byte_level);
  return read.ok() ? std::move(read) : Result<ModelPtr>(read.status().WithContext(fmt::format("model {}", type)));
}

}  // namespace assay::data
