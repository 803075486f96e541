// Rows of a token file, packed into the batches that models take.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <span>

#include "data/token_file.h"
#include "engine/kernels/packed_batch.h"

namespace assay::engine {

/// How rows are packed.
struct PackOptions {
  int64_t vocab_size = 0;
  c10::Device device = c10::kCPU;
  std::span<const uint64_t> row_keys =
      {};                     ///< one for each row, by which its dropout and noise are drawn; empty: there is none
  int64_t prompt_length = 0;  ///< places of a prompt before each row
};

/// Throws StatusError, with the place of `row` in its source, when it is empty, or when an id or a label that bears
/// loss lies outside [0, vocab_size).
void check_row(const data::TokenRowView& row, int64_t vocab_size);

/// Packs `rows` end to end, with the supervised positions: token i of a row bears loss when label i + 1 of the same row
/// is not masked, and label i + 1 is its target; the last place of a prompt bears the loss of the row's first label.
/// Throws StatusError as check_row() does.
PackedBatch pack_rows(std::span<const data::TokenRowView> rows, const PackOptions& options);

/// One token that bears no loss: what a rank without a row computes on, so that it makes the others' collectives.
PackedBatch pack_nothing(PackOptions options);

/// The rows of `file` at `indices`, cut to `max_length` tokens and packed.
PackedBatch pack_rows(const data::TokenFile& file, std::span<const int64_t> indices, int64_t max_length,
                      const PackOptions& options);

}  // namespace assay::engine
