// The rows that a data rank trains on in each step, packed.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <span>
#include <vector>

#include "data/token_file.h"
#include "engine/kernels/packed_batch.h"
#include "engine/train/order.h"

namespace assay::engine {

struct TokenBatchOptions {
  int64_t batch_size = 1;          ///< rows a micro-batch
  int64_t accumulation_steps = 1;  ///< micro-batches of a rank and step
  int64_t max_length = 512;        ///< rows are cut to this many tokens
  int64_t prompt_length = 0;       ///< places of a prompt before each row
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
  /// Throws StatusError when there are fewer rows than ranks.
  TokenBatches(data::TokenFile rows, const TokenBatchOptions& options);

  const data::TokenFile& rows() const { return rows_; }
  int64_t steps_per_epoch() const { return order_.steps_per_epoch(); }
  /// Of step `step` (from 1): all ranks' together are the window that one rank with `ranks` times the accumulation has,
  /// and each row's dropout is drawn as there.
  /// Throws StatusError as pack_rows() does.
  TokenWindow window(int64_t step, int64_t vocab_size, c10::Device device);
  /// Of all ranks' micro-batches in the first `steps` steps, the one with the most tokens, on the CPU. Where these are
  /// too many to look at, the longest rows together.
  PackedBatch largest(int64_t steps, int64_t vocab_size);

 private:
  /// The rows of a step, and which of them each rank has.
  struct Deal {
    std::vector<int64_t> rows;
    std::vector<std::vector<int64_t>> hands;  ///< places in `rows`
  };
  Deal deal(int64_t step);
  std::vector<std::vector<int64_t>> micro_batches_of_all(int64_t step);
  std::vector<int64_t> longest_rows() const;
  int64_t length_of(int64_t row) const;
  int64_t tokens_of(std::span<const int64_t> rows) const;
  int64_t supervised_tokens(std::span<const int64_t> rows) const;

  data::TokenFile rows_;
  TokenBatchOptions options_;
  RowOrder order_;
};

}  // namespace assay::engine
