// Byte-pair encoding.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer/model.h"
#include "data/tokenizer/pair_table.h"

namespace assay::data {

struct BpeOptions {
  std::string unknown_token;              ///< empty: characters outside the vocabulary are dropped
  std::string continuing_subword_prefix;  ///< put before every character of a word but the first
  std::string end_of_word_suffix;         ///< put after the last character of a word
  bool fuse_unknown = false;              ///< a run of unknown characters is one unknown token
  bool byte_fallback = false;             ///< unknown characters become tokens <0xHH>, when all of theirs exist
  bool ignore_merges = false;             ///< a word that is a token is that token, whatever its merges
  /// Words are raw bytes, tokens are written in GPT-2's byte alphabet: what the ByteLevel pre-tokeniser stands for.
  /// Needs a token for every byte, no prefix and no suffix.
  bool byte_level = false;
};

using Merge = std::pair<std::string, std::string>;

/// Sennrich et al. 2016 as the `tokenizers` library runs it: the pair of lowest rank is merged first, the leftmost of
/// equal ones, until none is left. Linear scans for short words, a heap for long ones.
class BpeModel final : public Model {
 public:
  /// Fails when a merge names, or makes, a token outside the vocabulary. Of equal merges the last counts.
  static Result<std::unique_ptr<const BpeModel>> Create(Vocabulary vocabulary, const std::vector<Merge>& merges,
                                                        BpeOptions options);

  bool Encode(std::string_view word, ModelScratch* scratch, std::vector<int32_t>* ids) const override;

  /// True when no merge joins a piece that does not end in `separator` with one that starts with it.
  bool MayCutBefore(std::string_view separator) const override;

 private:
  BpeModel(Vocabulary vocabulary, BpeOptions options, PairTable merges, std::vector<std::pair<int32_t, int32_t>> pairs);
  void IndexBytes();
  std::string_view Written(std::string_view word, size_t begin, size_t end, std::string* buffer) const;
  bool AppendCharacters(std::string_view word, std::vector<int32_t>* ids) const;
  bool AppendFallback(std::string_view character, std::vector<int32_t>* ids) const;
  size_t MergeShort(int32_t* ids, size_t count, ModelScratch* scratch) const;

  BpeOptions options_;
  PairTable merges_;
  std::vector<std::pair<int32_t, int32_t>> pairs_;
  std::array<int32_t, 256> byte_ids_;  // byte level: of the byte's character; else of <0xHH>
  Vocabulary raw_words_;               // byte level: tokens as raw bytes, for ignore_merges
};

}  // namespace assay::data
