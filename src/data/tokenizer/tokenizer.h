// Text to token ids and back, by the tokenizer.json of a Hugging Face model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::data {

struct TokenizerParts;

/// The tokens with a part to play, as far as the model names them.
struct SpecialTokens {
  std::optional<int32_t> bos;
  std::optional<int32_t> eos;
  std::optional<int32_t> pad;
  std::optional<int32_t> unk;
};

/// A tokeniser with the same ids as the `tokenizers` library's for the same file. Cheap to copy (copies share all
/// state) and safe to use from several threads at once.
///
/// What differs from that library, on purpose: the file's own "truncation" and "padding" are not applied, an added
/// token whose "id" is not the one it would get is refused, and so is anything the reader does not know.
class Tokenizer {
 public:
  /// For the readers below; see tokenizer_parts.h.
  explicit Tokenizer(std::shared_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

  /// Reads a tokenizer.json. An error is one line that names the file and what in it is missing, wrong or unsupported.
  static Result<Tokenizer> FromFile(const std::string& path);
  /// The same for JSON text; `source` stands for the file in errors.
  static Result<Tokenizer> FromJson(std::string_view text, std::string_view source);

  /// The ids of `text`. Ill-formed UTF-8 is read as U+FFFD, one for each maximal ill-formed part (what Python's
  /// `errors="replace"` gives). With `add_special_tokens` the file's post-processor adds its own, for example <s>.
  /// Fails when a character is outside the vocabulary and the model has no unknown token.
  Result<std::vector<int32_t>> Encode(std::string_view text, bool add_special_tokens) const;

  /// The text of `ids`; ids outside the vocabulary are left out, and special tokens with `skip_special_tokens`.
  Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  /// The largest id + 1: rows that an embedding needs. Ids below it may be unused.
  int64_t vocab_size() const;

  /// The token of `id` as it is written in the file.
  std::optional<std::string> Token(int32_t id) const;

  /// Known from a folder's configuration; from a file alone only `unk` is, from the model.
  const SpecialTokens& special_tokens() const;

 private:
  std::shared_ptr<const TokenizerParts> parts_;
};

/// Reads `folder`/tokenizer.json and, for the special tokens, tokenizer_config.json or else special_tokens_map.json
/// beside it. A beginning or end token that they name must exist; a padding or unknown token that does not is left out.
Result<Tokenizer> LoadTokenizerFolder(const std::string& folder);

}  // namespace assay::data
