// A batch of rows packed end to end: only real tokens, never padding.
//
// Shape legend of the engine: T tokens of the whole batch, R rows, H hidden, V vocabulary, N query heads, K key/value
// heads, D head dimension, I intermediate, S supervised tokens, r LoRA rank.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace assay::engine {

/// Row r spans tokens [row_offsets[r], row_offsets[r + 1]). Attention never crosses a row; positions restart at 0.
/// Tensors live on the batch's device; `row_offsets` is always on the host, `row_offsets_R1` is its int32 copy there.
struct PackedBatch {
  at::Tensor ids_T;           ///< int64
  at::Tensor positions_T;     ///< int64, position within the row
  at::Tensor row_offsets_R1;  ///< int32, R + 1 entries
  std::vector<int64_t> row_offsets;
  int64_t longest_row = 0;

  /// Positions whose next token in the same row is supervised, ascending, and that next token. The loss needs only
  /// these S hidden states. S may be 0.
  at::Tensor supervised_positions_S;  ///< int64
  at::Tensor supervised_targets_S;    ///< int64

  /// Supervised tokens of the whole step that this is a micro-batch of, by whose number its losses are divided; 0: what
  /// the model adds to the loss of its tokens does not count.
  int64_t step_supervised = 0;

  /// Every row begins with so many places of a trained prompt, which are no tokens: their ids are 0 and bear no loss.
  int64_t prompt_length = 0;
  at::Tensor prompt_places;  ///< int64, [R * prompt_length]: where in the batch they are, row by row

  /// int64: by which each token's dropout is drawn. Undefined: nothing drops.
  at::Tensor draw_keys_T;
  /// By which the noise on each row's embeddings is drawn, on the host. Empty: there is none.
  std::vector<uint64_t> row_keys;

  int64_t tokens() const { return row_offsets.empty() ? 0 : row_offsets.back(); }
  int64_t rows() const { return static_cast<int64_t>(row_offsets.size()) - 1; }
  int64_t real_tokens() const { return tokens() - rows() * prompt_length; }
  int64_t supervised() const { return supervised_positions_S.defined() ? supervised_positions_S.size(0) : 0; }
  /// Padding that a right-padding collator would have added to make the rows equally long.
  int64_t padding() const { return rows() * longest_row - tokens(); }
};

}  // namespace assay::engine
