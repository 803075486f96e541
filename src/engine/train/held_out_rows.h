// The evaluation of a language model on rows that it is not trained on.
#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "data/token_file.h"
#include "engine/comm/communicator.h"
#include "engine/model/causal_lm.h"
#include "engine/train/phase_meter.h"
#include "engine/train/pipeline.h"
#include "engine/train/token_batches.h"
#include "job/event.h"

namespace assay::engine {

/// Who evaluates: this rank, with those that share the work. All outlive what they are given to.
struct Evaluators {
  CausalLM& model;
  Pipeline& pipeline;
  Communicator* world;  ///< null: one rank
  c10::Device device;
  bool counts;  ///< of the ranks that hold one model together, this one has the losses
};

/// Not safe to use from two threads.
class HeldOutRows {
 public:
  /// `options` as of the rows that are trained on: batches are as large, and cut as long.
  HeldOutRows(data::TokenFile rows, const TokenBatchOptions& options) : rows_(std::move(rows)), options_(options) {}

  const data::TokenFile& rows() const { return rows_; }

  /// The mean cross-entropy of all supervised tokens of all rows: without gradient, dropout, noise, smoothed targets
  /// and the routers' loss. Data ranks take rows in turn. All ranks call it together and get the same. Throws
  /// StatusError as check_row().
  job::HeldOutLoss evaluate(const Evaluators& evaluators, PhaseMeter& meter);

 private:
  /// Adds up losses, tokens and rows.
  struct Totals;
  PackedBatch batch(int64_t begin, int64_t end, const Evaluators& evaluators, Totals& totals) const;

  data::TokenFile rows_;
  TokenBatchOptions options_;
};

}  // namespace assay::engine
