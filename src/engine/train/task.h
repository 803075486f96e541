// What a model brings to the training loop: how a step's micro-batches become losses and gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/train/phase_meter.h"
#include "engine/train/read_ahead.h"
#include "engine/train/updater.h"
#include "job/event.h"

namespace assay::engine {

/// What a rank spent a step on.
struct StepUse {
  PhaseUse data;
  PhaseUse transfer;
  PhaseUse forward;
  PhaseUse backward;
  PhaseUse optimizer;
};

/// What a rank did of a step. Its losses are on the device, which may not have made them yet.
struct TaskStep {
  /// False, on all ranks alike: nothing in the step bears loss, and there is nothing to update.
  bool updates = true;
  std::vector<at::Tensor> losses = {};  ///< scalars of one dtype
  double divisor = 1;                   ///< of their sum, which is this rank's share of the step's loss then
};

/// One rank's part of a training. Not safe to use from two threads.
class Task {
 public:
  virtual ~Task() = default;

  /// Runs forward and backward of this rank's part of step `step` and adds its gradients to those of `updater`. Returns
  /// this rank's share of the step's loss; event's counts become those of its rows: both are summed over all ranks.
  /// Does not wait for a device: `use` is complete after meter.settle().
  virtual TaskStep train(int64_t step, Updater& updater, PhaseMeter& meter, StepUse& use, job::Step& event) = 0;

  /// What reads the samples of train(); null, on all ranks alike: they are there.
  virtual ReadAhead* read_ahead() { return nullptr; }

  /// Called after each step: `counted` of those that count were made; `last`: no other will follow. The loss of an
  /// evaluation by which a run may end, the same on all ranks, where there was one.
  virtual std::optional<double> step_over(int64_t /*step*/, int64_t /*counted*/, bool /*last*/, PhaseMeter& /*meter*/) {
    return std::nullopt;
  }
};

}  // namespace assay::engine
