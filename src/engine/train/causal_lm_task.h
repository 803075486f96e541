// The training of a causal language model on rows of tokens.
#pragma once

#include "engine/model/causal_lm.h"
#include "engine/train/event_writer.h"
#include "engine/train/held_out_rows.h"
#include "engine/train/pipeline.h"
#include "engine/train/task.h"
#include "engine/train/token_batches.h"

namespace assay::engine {

/// The loss of a step is the sum over its micro-batches, of all ranks, of the tokens' cross-entropies, divided by the
/// number of supervised tokens in all of them, as transformers.Trainer (num_items_in_batch) does. A step without any
/// has loss 0 and changes nothing. (The reference divides by zero there and makes every parameter NaN.)
///
/// Writes an event for each evaluation of held-out rows.
class CausalLmTask : public Task {
 public:
  struct Parts {
    CausalLM& model;
    Pipeline& pipeline;
    TokenBatches& batches;
    HeldOutRows* held_out;  ///< null: nothing is evaluated
    int64_t eval_every;     ///< steps; 0: after the last one alone
    Communicator* world;    ///< null: one rank
    c10::Device device;
    bool counts;  ///< rows and losses are this rank's to count, of the ranks that hold one model together
    EventWriter& events;
  };
  /// All outlive this.
  explicit CausalLmTask(const Parts& parts)
      : parts_(parts),
        model_(parts.model),
        pipeline_(parts.pipeline),
        batches_(parts.batches),
        device_(parts.device),
        counts_(parts.counts) {}

  TaskStep train(int64_t step, Updater& updater, PhaseMeter& meter, StepUse& use, job::Step& event) override;
  ReadAhead* read_ahead() override { return batches_.read_ahead(); }
  std::optional<double> step_over(int64_t step, int64_t counted, bool last, PhaseMeter& meter) override;

 private:
  std::vector<at::Tensor> run(const TokenWindow& window, Updater& updater, bool always_backward, PhaseMeter& meter,
                              StepUse& use);

  Parts parts_;
  CausalLM& model_;
  Pipeline& pipeline_;
  TokenBatches& batches_;
  c10::Device device_;
  bool counts_;
};

}  // namespace assay::engine
