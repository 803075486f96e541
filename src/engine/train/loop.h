// The training loop: steps until a rule ends them, each measured.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/training_state.h"
#include "engine/comm/communicator.h"
#include "engine/optim/schedule.h"
#include "engine/train/phase_meter.h"
#include "engine/train/stop.h"
#include "engine/train/task.h"
#include "engine/train/updater.h"
#include "job/event.h"

namespace assay::engine {

struct LoopOptions {
  double max_grad_norm = 1.0;    ///< 0: no clipping
  bool schedule_waits = true;    ///< for steps that were skipped; else they have their place in the schedule
  bool warms_up = false;         ///< steps until their times are stable come first and do not count
  int64_t max_warmup_steps = 0;  ///< of these
  TrainingPosition begin = {};   ///< where the run goes on; of a new one all zero
  std::string cure = {};         ///< what else than a smaller learning rate may help a training that diverges
};

/// What a loop tells of its steps.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// Further steps are those that are measured.
  virtual void measuring_begins() = 0;
  virtual void step_begins() = 0;
  /// All but what the ranks tell each other of the step.
  virtual void step_computed() = 0;
  /// `use` is this rank's, `step` that of all ranks but for its times and peaks.
  virtual void step_ended(const job::Step& step, const StepUse& use) = 0;
};

/// A step that counts, when it and the evaluation that may follow it are over.
struct StepOver {
  TrainingPosition position;
  const job::Step& step;
  std::optional<double> evaluation_loss;  ///< of the evaluation, where there was one
  bool last;                              ///< no other will follow
};

/// What a loop works on; everything outlives it.
struct LoopParts {
  Task& task;
  Updater& updater;
  const Schedule& schedule;
  StopRule& stop;
  PhaseMeter& meter;
  StepObserver& observer;
  Communicator* world;  ///< null: one rank
  c10::Device device;
  /// Called before each update of the parameters. Empty: nobody.
  std::function<void()> before_update = {};
  /// Called after each step that counts. Empty: nobody.
  std::function<void(const StepOver& over)> between_steps = {};
};

struct LoopResult {
  std::string stopped_by;
  double train_runtime = 0;  ///< seconds, warm-up included
  Warmup warmup;
};

/// The sum over all ranks of each of `values`; `world` null: one rank. All call it together.
std::vector<double> sum_over_ranks(Communicator* world, c10::Device device, const std::vector<double>& values,
                                   std::string_view label);

/// Trains until a stop rule ends the run, the first rank's clock deciding. All ranks call it together.
///
/// A run that goes on from a position makes the steps that follow it, without warm-up; none where it was at its end.
///
/// With a loss scale a step whose gradients are not finite changes nothing, and the schedule stays where it is, as with
/// torch.amp.GradScaler in transformers.Trainer.
///
/// Throws Diverged on all ranks alike, after the observer was told of the step, when a loss is not finite; when
/// gradients are not and there is no loss scale, before they change a parameter; or when they are not however small the
/// scale got.
LoopResult run_loop(const LoopOptions& options, const LoopParts& parts);

}  // namespace assay::engine
