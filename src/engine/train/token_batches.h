// The rows that a data rank trains on in each step, packed.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/token_file.h"
#include "engine/kernels/packed_batch.h"
#include "engine/train/order.h"
#include "engine/train/streamed_rows.h"

namespace assay::engine {

struct TokenBatchOptions {
  int64_t batch_size = 1;          ///< rows a micro-batch, or packs of them
  int64_t accumulation_steps = 1;  ///< micro-batches of a rank and step
  int64_t max_length = 512;        ///< rows are cut to this many tokens
  int64_t prompt_length = 0;       ///< places of a prompt before each row
  bool packs = false;              ///< of rows of a file, as pack_by_length() makes them of max_length tokens
  bool shuffle = false;
  uint64_t seed = 0;  ///< of permutations, and of what dropout is drawn by
  int64_t rank = 0;   ///< of `ranks` that see different rows
  int64_t ranks = 1;
};

/// A step's rows, of which this rank has a part.
struct TokenWindow {
  std::vector<PackedBatch> batches = {};  ///< this rank's; as many as every rank has
  int64_t with_rows = 0;                  ///< of these, the first so many; the others hold one token that bears no loss
  int64_t supervised_tokens = 0;          ///< of all ranks
};

/// Not safe to use from two threads.
class TokenBatches {
 public:
  /// With `stream` its rows are trained on, and `rows` are as long as they may become. Throws StatusError when there
  /// are fewer rows than ranks.
  TokenBatches(data::TokenFile rows, const TokenBatchOptions& options, std::unique_ptr<StreamedRows> stream = nullptr);

  /// What tells how much memory a step may need.
  const data::TokenFile& rows() const { return rows_; }
  int64_t row_count() const { return stream_ ? stream_->rows() : rows_.rows(); }
  int64_t steps_per_epoch() const { return stream_ ? stream_->steps_per_epoch() : order_.steps_per_epoch(); }
  /// Null without a stream.
  ReadAhead* read_ahead() { return stream_ ? &stream_->read_ahead() : nullptr; }
  /// What the stream has cost so far; nothing without one.
  std::optional<job::DataUse> data_use() const { return stream_ ? std::optional(stream_->use()) : std::nullopt; }
  /// Of step `step` (from 1), of a stream the one behind the last: all ranks' together are the window that one rank
  /// with `ranks` times the accumulation has, and each row's dropout is drawn as there.
  /// Throws StatusError as check_row(), for any rank's row of the step on all ranks alike, and as
  /// StreamedRows::rows_of().
  TokenWindow window(int64_t step, int64_t vocab_size, c10::Device device);
  /// Of all ranks' micro-batches in the first `steps` steps, the one with the most tokens, on the CPU. Where these are
  /// too many to look at, or not known yet, the longest rows together.
  PackedBatch largest(int64_t steps, int64_t vocab_size);

 private:
  using Views = std::vector<data::TokenRowView>;
  /// The rows of a step, what of them belongs together, and which of that each rank has.
  struct Deal {
    std::vector<data::TokenRow> streamed;  ///< what `rows` show, of a stream
    Views rows;
    std::vector<std::vector<int64_t>> packs;  ///< places in `rows`; one alone where there are no packs
    std::vector<std::vector<int64_t>> hands;  ///< places in `packs`

    /// Those of the rank with `hand` that are in its micro-batch `batch` of `size` packs.
    std::vector<int64_t> places_of(const std::vector<int64_t>& hand, int64_t batch, int64_t size) const;
  };
  Deal deal(int64_t step);
  std::vector<Views> micro_batches_of_all(int64_t step);
  /// Of the file: what the order is of.
  int64_t packs_of_file() const;
  /// Their rows.
  std::vector<int64_t> pack(int64_t index) const;
  Views longest_rows() const;
  int64_t length_of(const data::TokenRowView& row) const;
  int64_t tokens_of(std::span<const data::TokenRowView> rows) const;
  int64_t supervised_tokens(std::span<const data::TokenRowView> rows) const;

  data::TokenFile rows_;
  TokenBatchOptions options_;
  std::vector<std::vector<int64_t>> packs_;  ///< without packs empty: each row is one
  RowOrder order_;
  std::unique_ptr<StreamedRows> stream_;
};

}  // namespace assay::engine
