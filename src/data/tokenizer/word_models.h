// WordPiece and WordLevel: words looked up in a vocabulary, in parts or whole.
#pragma once

#include <string>

#include "data/tokenizer/model.h"

namespace assay::data {

struct WordPieceOptions {
  std::string unknown_token;
  std::string continuing_subword_prefix;  ///< put before every part of a word but the first
  int64_t max_characters = 100;           ///< a longer word is unknown
};

/// BERT's: the longest token that starts the word, then the longest that continues it; unknown as a whole if none does.
class WordPieceModel final : public Model {
 public:
  WordPieceModel(Vocabulary vocabulary, WordPieceOptions options)
      : Model(std::move(vocabulary), options.unknown_token), options_(std::move(options)) {}
  bool Encode(std::string_view word, ModelScratch* scratch, std::vector<int32_t>* ids) const override;

 private:
  WordPieceOptions options_;
};

/// A word is a token, or unknown.
class WordLevelModel final : public Model {
 public:
  WordLevelModel(Vocabulary vocabulary, std::string unknown_token)
      : Model(std::move(vocabulary), std::move(unknown_token)) {}
  bool Encode(std::string_view word, ModelScratch* scratch, std::vector<int32_t>* ids) const override;
};

}  // namespace assay::data
