// Rows of a data set of shards, read and tokenised ahead of the step that trains on them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/row_encoder.h"
#include "data/token_file.h"
#include "engine/train/streamed_steps.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// The rows of all data ranks, step by step, in the order of the data set: every rank reads them all, and takes its own
/// (row_deal.h). An epoch whose rows no step divides ends with a smaller step. Not safe to use from two threads.
class StreamedRows {
 public:
  /// Reads ahead from step 1 on, of a plan that may go on from elsewhere when it is known. Throws StatusError as
  /// StreamedSource.
  StreamedRows(const job::TunePlan& plan, int64_t rows_of_step);

  int64_t rows() const { return steps_.source().samples(); }
  int64_t steps_per_epoch() const { return steps_.source().steps_per_epoch(); }
  /// Of the tokeniser; 1 without one.
  int64_t vocab_size() const { return vocab_size_; }
  /// Those of step `step` (from 1), as StreamedSteps::of_step().
  std::vector<data::TokenRow> rows_of(int64_t step) { return steps_.of_step(step); }
  job::DataUse use() const { return steps_.use(); }
  ReadAhead& read_ahead() { return steps_; }

 private:
  Result<data::TokenRow> encode(const shards::StreamedSample& sample) const;

  int64_t vocab_size_ = 1;
  std::unique_ptr<const data::RowEncoder> encoder_;
  StreamedSteps<data::TokenRow> steps_;  ///< last: its thread uses the others
};

/// Rows as long as a step's may become, of which memory is foretold: what streams in is not known before.
data::TokenFile longest_rows(const job::TunePlan& plan, int64_t vocab_size);

}  // namespace assay::engine
