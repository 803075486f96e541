#include "engine/train/held_out_rows.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "engine/train/batch.h"
#include "engine/train/loop.h"

namespace assay::engine {

struct HeldOutRows::Totals {
  at::Tensor loss;  ///< on the device; undefined: nothing yet
  int64_t tokens = 0;
  int64_t rows = 0;

  void add(const at::Tensor& of_batch) { loss = loss.defined() ? loss + of_batch : of_batch; }
};

/// This rank's positions [begin, end), of which those beyond the rows are nothing.
PackedBatch HeldOutRows::batch(int64_t begin, int64_t end, const Evaluators& evaluators, Totals& totals) const {
  const PackOptions pack{.vocab_size = evaluators.model.vocab_size(),
                         .device = evaluators.device,
                         .prompt_length = options_.prompt_length};
  std::vector<data::TokenRowView> views;
  for (int64_t position = begin; position < end; ++position) {
    const int64_t row = position * options_.ranks + options_.rank;
    if (row < rows_.rows()) {
      views.push_back(rows_.row(row, options_.max_length));
    }
  }
  if (views.empty()) {
    return pack_nothing(pack);
  }
  PackedBatch batch = pack_rows(views, pack);
  totals.tokens += evaluators.counts ? batch.supervised() : 0;
  totals.rows += evaluators.counts ? batch.rows() : 0;
  return batch;
}

job::HeldOutLoss HeldOutRows::evaluate(const Evaluators& evaluators, PhaseMeter& meter) {
  const double start = MonotonicSeconds();
  const int64_t of_rank = (rows_.rows() + options_.ranks - 1) / options_.ranks;
  Totals totals;
  PhaseUse use;
  evaluators.model.set_training(false);
  meter.measure("evaluation", use, [&] {
    const at::NoGradGuard no_grad;
    for (int64_t begin = 0; begin < of_rank; begin += options_.batch_size) {
      const PackedBatch rows = batch(begin, std::min(of_rank, begin + options_.batch_size), evaluators, totals);
      const at::Tensor loss = evaluators.pipeline.forward(
          rows.tokens(), [&](const at::Tensor& input) { return evaluators.model.forward(rows, input, 1.0); });
      if (evaluators.counts) {
        totals.add(loss.to(at::kDouble));
      }
    }
  });
  evaluators.model.set_training(true);
  const std::vector<double> sums =
      sum_over_ranks(evaluators.world, evaluators.device,
                     {totals.loss.defined() ? totals.loss.item<double>() : 0.0, static_cast<double>(totals.tokens),
                      static_cast<double>(totals.rows)},
                     "evaluation");
  return {.loss = sums[0] / sums[1],
          .perplexity = std::exp(sums[0] / sums[1]),
          .rows = std::llround(sums[2]),
          .tokens = std::llround(sums[1]),
          .seconds = MonotonicSeconds() - start};
}

}  // namespace assay::engine
