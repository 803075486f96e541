// Rows of a token file, packed into the batches that models take.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <span>

#include "data/token_file.h"
#include "engine/kernels/packed_batch.h"

namespace assay::engine {

/// Packs `rows` end to end on `device`, with the supervised positions: token i of a row bears loss when label i + 1 of
/// the same row is not masked, and label i + 1 is its target. `row_keys`: one for each row, by which its dropout is
/// drawn; empty: there is none. Throws StatusError when a row is empty, or when an id or
/// a label lies outside [0, vocab_size).
PackedBatch pack_rows(std::span<const data::TokenRowView> rows, int64_t vocab_size, c10::Device device,
                      std::span<const uint64_t> row_keys = {});

/// The rows of `file` at `indices`, cut to `max_length` tokens and packed.
PackedBatch pack_rows(const data::TokenFile& file, std::span<const int64_t> indices, int64_t max_length,
                      int64_t vocab_size, c10::Device device, std::span<const uint64_t> row_keys = {});

}  // namespace assay::engine
