#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "data/tokenizer/component_json.h"
#include "data/tokenizer/json_fields.h"
#include "data/tokenizer/model_json.h"
#include "data/tokenizer/tokenizer_parts.h"

namespace assay::data {
namespace {

using nlohmann::json;

// What models made by SentencePiece write for a space. Those that take a whole text as one word seldom merge across it;
// then the text is cut there, and its words are found in the cache.
constexpr std::string_view kMetaspace = "\xE2\x96\x81";

Result<AddedToken> ReadAddedToken(const json& entry) {
  AddedToken token;
  ASSAY_ASSIGN_OR_RETURN(token.content, RequiredField<std::string>(entry, "content"));
  const std::optional<int32_t> id = ReadTokenId(entry.value("id", json()));
  if (!id) {
    return Status::InvalidArgument(fmt::format("added token '{}' has no id that is one", token.content));
  }
  token.id = *id;
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "single_word", token.single_word));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "lstrip", token.lstrip));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "rstrip", token.rstrip));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "special", token.special));
  token.normalized = !token.special;
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "normalized", token.normalized));
  return token;
}

// The id of an added token: that of the model's vocabulary, or else the next free one. A file that declares another
// was written for another vocabulary.
Status CheckId(const AddedToken& token, const Vocabulary& vocabulary, int32_t next_id) {
  const int32_t known = vocabulary.Find(token.content);
  const int32_t expected = known != kNoToken ? known : next_id;
  if (token.id == expected) {
    return Status::Ok();
  }
  return Status::InvalidArgument(
      fmt::format("added token '{}' declares the id {}, but {} {}; the file is not consistent", token.content, token.id,
                  known != kNoToken ? "the vocabulary has it as" : "the next free id is", expected));
}

// The added tokens by id.
Result<std::map<int32_t, AddedToken>> ReadAddedTokens(const json& root, const Vocabulary& vocabulary) {
  std::map<int32_t, AddedToken> tokens;
  const json none = json::array();
  const auto found = root.find("added_tokens");
  auto next_id = static_cast<int32_t>(vocabulary.size());
  for (const json& entry : found != root.end() && found->is_array() ? *found : none) {
    ASSAY_ASSIGN_OR_RETURN(AddedToken token, ReadAddedToken(entry));
    if (token.content.empty()) {
      continue;
    }
    if (!tokens.contains(token.id) || tokens[token.id].content != token.content) {
      ASSAY_RETURN_IF_ERROR(CheckId(token, vocabulary, next_id));
    }
    next_id += token.id == next_id ? 1 : 0;
    tokens[token.id] = std::move(token);
  }
  return tokens;
}

Status AddTokens(const std::map<int32_t, AddedToken>& tokens, TokenizerParts* parts) {
  std::vector<AddedTokenFinder::Pattern> raw;
  std::vector<AddedTokenFinder::Pattern> normalized;
  for (const auto& [id, token] : tokens) {
    parts->added.Add(token.content, id);
    if (token.special) {
      parts->special_contents.insert(token.content);
    }
    std::string pattern = token.content;
    if (token.normalized && parts->normalizer != nullptr) {
      NormalizedText text(pattern);
      ASSAY_RETURN_IF_ERROR(parts->normalizer->Apply(&text));
      pattern = std::move(text.bytes);
    }
    if (pattern != token.content) {
      parts->normalized_added[id] = pattern;
    }
    (token.normalized ? normalized : raw).emplace_back(std::move(pattern), token);
  }
  parts->raw_finder.emplace(raw);
  parts->normalized_finder.emplace(normalized);
  return Status::Ok();
}

bool HasComponent(const json& root, const char* key) {
  return root.contains(key) && !root[key].is_null();
}

// Readers of components call one another for the parts of a sequence.
bool NestsDeeperThan(const json& value, int depth) {
  return value.is_structured() && (depth == 0 || std::any_of(value.begin(), value.end(), [depth](const json& part) {
                                     return NestsDeeperThan(part, depth - 1);
                                   }));
}

Status CheckNesting(const json& root) {
  constexpr int kDeepest = 64;
  for (const char* key : {"normalizer", "pre_tokenizer", "decoder", "post_processor"}) {
    if (root.contains(key) && NestsDeeperThan(root[key], kDeepest)) {
      return Status::Unsupported(fmt::format("{}: sequences nested that deeply are not supported", key));
    }
  }
  return Status::Ok();
}

// Ids outside the vocabulary would be rows outside of an embedding.
Status CheckPostProcessor(const PostProcessor& around, int64_t vocab_size) {
  for (const std::vector<int32_t>* ids : {&around.before, &around.after}) {
    for (const int32_t id : *ids) {
      if (id >= vocab_size) {
        return Status::InvalidArgument(
            fmt::format("post_processor adds the id {}, but the vocabulary ends at {}", id, vocab_size - 1));
      }
    }
  }
  return Status::Ok();
}

Status CheckVersion(const json& root) {
  ASSAY_ASSIGN_OR_RETURN(const std::string version, OptionalField<std::string>(root, "version", "1.0"));
  return version == "1.0" ? Status::Ok()
                          : Status::Unsupported(fmt::format("format version '{}' is not supported", version));
}

Result<std::shared_ptr<TokenizerParts>> ReadParts(const json& root) {
  if (root.is_object() && root.contains("class_name")) {
    return Status::Unsupported(
        "a tokeniser of Keras, not of the tokenizers library; give the tokenizer.json of a Hugging Face model");
  }
  if (!root.is_object() || !root.contains("model")) {
    return Status::InvalidArgument("not a tokenizer.json: 'model' is missing");
  }
  ASSAY_RETURN_IF_ERROR(CheckVersion(root));
  ASSAY_RETURN_IF_ERROR(CheckNesting(root));
  auto parts = std::make_shared<TokenizerParts>();
  if (HasComponent(root, "normalizer")) {
    ASSAY_ASSIGN_OR_RETURN(parts->normalizer, ReadNormalizer(root["normalizer"]));
  }
  ReadPreTokenizerResult pre_tokenizer;
  if (HasComponent(root, "pre_tokenizer")) {
    ASSAY_ASSIGN_OR_RETURN(pre_tokenizer, ReadPreTokenizer(root["pre_tokenizer"], ModelTakesBytes(root["model"])));
  }
  parts->pre_tokenizer = std::move(pre_tokenizer.pre_tokenizer);
  ASSAY_ASSIGN_OR_RETURN(parts->model, ReadModel(root["model"], pre_tokenizer.byte_level));
  if (parts->pre_tokenizer.splitter == nullptr && parts->model->MayCutBefore(kMetaspace)) {
    parts->pre_tokenizer.splitter = MakeSeparatorSplitter(std::string(kMetaspace));
  }
  if (HasComponent(root, "decoder")) {
    ASSAY_ASSIGN_OR_RETURN(parts->decoder, ReadDecoder(root["decoder"]));
  }
  if (HasComponent(root, "post_processor")) {
    ASSAY_ASSIGN_OR_RETURN(parts->post_processor, ReadPostProcessor(root["post_processor"]));
  }
  const auto added = ReadAddedTokens(root, parts->model->vocabulary());
  if (!added.ok()) {
    return added.status();
  }
  ASSAY_RETURN_IF_ERROR(AddTokens(*added, parts.get()));
  const int64_t vocab_size = std::max(parts->model->vocabulary().id_limit(), parts->added.id_limit());
  ASSAY_RETURN_IF_ERROR(CheckPostProcessor(parts->post_processor, vocab_size));
  parts->special_tokens.unk = parts->FindToken(parts->model->unknown_token());
  return parts;
}

}  // namespace

Result<std::shared_ptr<TokenizerParts>> ReadTokenizerParts(std::string_view text, std::string_view source) {
  if (text.starts_with("version https://git-lfs")) {
    return Status::InvalidArgument(
        fmt::format("{}: a Git LFS pointer and not the file it stands for; fetch that with git lfs pull", source));
  }
  ASSAY_ASSIGN_OR_RETURN(const json root, ParseJson(text, source));
  try {
    Result<std::shared_ptr<TokenizerParts>> parts = ReadParts(root);
    return parts.ok() ? std::move(parts) : Result<std::shared_ptr<TokenizerParts>>(parts.status().WithContext(source));
  } catch (const json::exception& error) {
    return Status::InvalidArgument(fmt::format("{}: not a tokenizer.json: {}", source, error.what()));
  }
}

Result<Tokenizer> Tokenizer::FromJson(std::string_view text, std::string_view source) {
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<TokenizerParts> parts, ReadTokenizerParts(text, source));
  return Tokenizer(std::move(parts));
}

Result<Tokenizer> Tokenizer::FromFile(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return FromJson(text, path);
}

}  // namespace assay::data
