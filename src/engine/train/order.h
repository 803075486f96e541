// Which rows each optimiser step trains on: a pure function of the options and the step's number.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::engine {

struct OrderOptions {
  int64_t rows = 0;  ///< in the data set; at least 1
  int64_t batch_size = 1;
  int64_t accumulation_steps = 1;
  bool shuffle = false;  ///< a permutation of its own for each epoch; else file order
  uint64_t seed = 0;     ///< of the permutations
};

/// Micro-batches as transformers.Trainer cuts them: an epoch goes once over all rows, so its last micro-batch may be
/// smaller and its last step may have fewer micro-batches; further steps begin the next epoch. Not safe to use from two
/// threads.
class RowOrder {
 public:
  explicit RowOrder(const OrderOptions& options);

  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// Row indices of each micro-batch of step `step` (from 1).
  std::vector<std::vector<int64_t>> micro_batches(int64_t step);

 private:
  int64_t row_at(int64_t epoch, int64_t position);

  OrderOptions options_;
  int64_t batches_per_epoch_;
  int64_t steps_per_epoch_;
  int64_t permuted_epoch_ = -1;
  std::vector<int64_t> permutation_;  ///< of epoch `permuted_epoch_`
};

}  // namespace assay::engine
