// The training of a causal language model on rows of tokens.
#pragma once

#include "engine/model/causal_lm.h"
#include "engine/train/pipeline.h"
#include "engine/train/task.h"
#include "engine/train/token_batches.h"

namespace assay::engine {

/// The loss of a step is the sum over its micro-batches, of all ranks, of the tokens' cross-entropies, divided by the
/// number of supervised tokens in all of them, as transformers.Trainer (num_items_in_batch) does. A step without any
/// has loss 0 and changes nothing. (The reference divides by zero there and makes every parameter NaN.)
class CausalLmTask : public Task {
 public:
  /// `counts`: rows and losses are this rank's to count, of the ranks that hold one model together. All outlive this.
  CausalLmTask(CausalLM& model, Pipeline& pipeline, TokenBatches& batches, c10::Device device, bool counts)
      : model_(model), pipeline_(pipeline), batches_(batches), device_(device), counts_(counts) {}

  TaskStep train(int64_t step, Updater& updater, PhaseMeter& meter, StepUse& use, job::Step& event) override;
  ReadAhead* read_ahead() override { return batches_.read_ahead(); }

 private:
  std::vector<at::Tensor> run(const TokenWindow& window, Updater& updater, bool always_backward, PhaseMeter& meter,
                              StepUse& use);

  CausalLM& model_;
  Pipeline& pipeline_;
  TokenBatches& batches_;
  c10::Device device_;
  bool counts_;
};

}  // namespace assay::engine
