// The parts of a tokeniser.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "data/tokenizer/added_tokens.h"
#include "data/tokenizer/decoder.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/normalizer.h"
#include "data/tokenizer/post_processor.h"
#include "data/tokenizer/pre_tokenizer.h"
#include "data/tokenizer/tokenizer.h"
#include "data/tokenizer/word_cache.h"

namespace assay::data {

/// Memory of one Encode call, kept for the next. One thread at a time.
struct EncodeContext {
  WordCache cache;
  ModelScratch scratch;
  TextArena arena;
  size_t most_bytes = 0;  // that `arena` may hold
  std::vector<Piece> pieces;
  std::vector<Piece> next_pieces;
  std::vector<int32_t> word_ids;
  std::vector<int32_t> ids;
  size_t count = 0;  // of ids in use
  Status failure;    // why a step of Encode gave up
};

/// Hands out contexts to as many threads as ask.
class EncodeContextPool {
 public:
  std::unique_ptr<EncodeContext> Take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      return std::make_unique<EncodeContext>();
    }
    std::unique_ptr<EncodeContext> context = std::move(free_.back());
    free_.pop_back();
    return context;
  }
  void Return(std::unique_ptr<EncodeContext> context) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(context));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeContext>> free_;
};

struct TokenizerParts {
  NormalizerPtr normalizer;  // may be null
  PreTokenizer pre_tokenizer;
  std::unique_ptr<const Model> model;
  DecoderPtr decoder;  // null: tokens are joined by spaces
  PostProcessor post_processor;
  Vocabulary added;
  std::unordered_map<int32_t, std::string> normalized_added;  // written forms for the decoder, where they differ
  std::unordered_set<std::string> special_contents;
  std::optional<AddedTokenFinder> raw_finder;         // looks in the text
  std::optional<AddedTokenFinder> normalized_finder;  // looks in the normalised text
  SpecialTokens special_tokens;
  mutable EncodeContextPool contexts;

  std::optional<int32_t> FindToken(std::string_view token) const;
  // The steps of Encode, from the outside in. False: see `failure` of the context.
  bool EncodeText(std::string_view text, EncodeContext* context) const;
  // The first `first` bytes of `text` stand for what the text given begins with.
  bool EncodeNormalized(std::string_view text, size_t first, EncodeContext* context) const;
  bool EncodePart(std::string_view part, bool at_start, EncodeContext* context) const;
  bool EncodePiece(const Piece& piece, EncodeContext* context) const;
  bool EncodeWord(std::string_view word, const char* text_end, EncodeContext* context) const;
};

/// The parts that tokenizer.json `text` describes; `source` stands for the file in errors.
Result<std::shared_ptr<TokenizerParts>> ReadTokenizerParts(std::string_view text, std::string_view source);

}  // namespace assay::data
