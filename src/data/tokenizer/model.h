// What turns one word into ids: the interface of the four kinds of model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/vocabulary.h"

namespace assay::data {

/// Memory that a model uses while it encodes, kept from word to word. One thread at a time.
struct ModelScratch {
  std::vector<int32_t> ids;
  std::vector<uint32_t> ranks;
  std::vector<int32_t> merged;
  std::vector<uint32_t> next;
  std::vector<uint32_t> previous;
  std::vector<uint64_t> heap;
  std::vector<double> scores;
  std::vector<int32_t> best;
  std::vector<uint32_t> starts;
};

/// Immutable, so safe from several threads that each bring a scratch.
class Model {
 public:
  virtual ~Model() = default;

  /// Appends the ids of `word`, not empty and valid UTF-8. False when it has a character outside the vocabulary and the
  /// model names no unknown token that exists.
  virtual bool Encode(std::string_view word, ModelScratch* scratch, std::vector<int32_t>* ids) const = 0;

  /// Whether a word may be cut before any `separator` that does not follow another one, without a change to its ids.
  virtual bool MayCutBefore(std::string_view separator) const {
    (void)separator;
    return false;
  }

  const Vocabulary& vocabulary() const { return vocabulary_; }
  /// The unknown token, or empty.
  const std::string& unknown_token() const { return unknown_token_; }

 protected:
  Model(Vocabulary vocabulary, std::string unknown_token)
      : vocabulary_(std::move(vocabulary)), unknown_token_(std::move(unknown_token)) {}

  Vocabulary vocabulary_;
  std::string unknown_token_;
};

}  // namespace assay::data
