// Tokens that are found in the text before a model sees it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/tokenizer/pair_table.h"
#include "data/tokenizer/vocabulary.h"

namespace assay::data {

struct AddedToken {
  std::string content;
  int32_t id = kNoToken;
  bool single_word = false;  ///< only where no word character stands on either side
  bool lstrip = false;       ///< takes the spaces on its left with it
  bool rstrip = false;       ///< takes the spaces on its right with it
  bool normalized = true;    ///< looked for in the normalised text, by its own normalised form
  bool special = false;      ///< left out by a decoder that skips special tokens
};

/// Finds added tokens, the leftmost first and of those the longest, as the `tokenizers` library does. Immutable.
class AddedTokenFinder {
 public:
  /// What to look for, with the token it stands for.
  using Pattern = std::pair<std::string, AddedToken>;
  explicit AddedTokenFinder(const std::vector<Pattern>& patterns);

  bool empty() const { return tokens_.empty(); }

  /// Calls `on_part(text, id)` for the parts of `text`, in order: an added token with its id, or what stands between
  /// them with kNoToken; no part is empty but an added token's may be. Returns false as soon as `on_part` does.
  bool ForEachPart(std::string_view text, const std::function<bool(std::string_view, int32_t)>& on_part) const;

 private:
  struct Match {
    size_t begin;
    size_t end;
    const AddedToken* token;
  };
  size_t FindFirstByte(std::string_view text, size_t from) const;
  bool FindNext(std::string_view text, size_t from, Match* match) const;

  std::vector<AddedToken> tokens_;
  std::array<bool, 256> first_bytes_{};
  int only_first_byte_ = -1;  // when all patterns start with the same one
  PairTable edges_;           // (node, byte) to node
  std::vector<int32_t> node_tokens_;
};

}  // namespace assay::data
