// What a checkpoint of a training holds beside tensors: how far it is, and what it needs to go on.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/value/flat_state.h"
#include "checkpoint/value/value.h"
#include "engine/optim/loss_scaler.h"
#include "engine/optim/optimizer.h"

namespace assay::engine {

/// What the evaluations of a training have come to.
struct EvaluationCourse {
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t since_best = 0;  ///< evaluations that were no better, one after the other
};

/// How far a training is. Rows, dropout and learning rate of a step follow from its number and the run's settings
/// alone: with them this is the state of all random numbers, of the data and of the schedule.
struct TrainingPosition {
  int64_t step = 0;     ///< of all steps, warm-up included
  int64_t counted = 0;  ///< of these, which the schedule counts
  int64_t skipped = 0;  ///< of all, that changed nothing
  EvaluationCourse evaluations = {};
};

struct TrainingState {
  TrainingPosition position = {};
  double learning_rate = 0;                          ///< of the last step
  std::optional<LossScaler::State> loss_scale = {};  ///< unset: losses are not scaled
  std::string optimizer_name = "adamw_torch";        ///< for those who read param_groups, as its options
  OptimizerOptions optimizer = {};
  std::map<std::string, double> metrics = {};   ///< of the last step, by which checkpoints may be kept
  std::map<std::string, std::string> run = {};  ///< settings that must be the same for a run to go on
};

/// The leaves as torch.distributed.checkpoint names them: of optimizer.param_groups, as
/// torch.distributed.checkpoint.state_dict has them, for parameters of those names; of lr_scheduler, as
/// torch.optim.lr_scheduler has them; of loss_scaler; of progress and run, which are our own.
std::vector<checkpoint::Leaf> leaves_of(const TrainingState& state, const std::vector<std::string>& parameters);

/// The same back, without optimiser. Throws StatusError, naming `uri` and what is missing: it is no checkpoint of a
/// training of ours.
TrainingState training_state_of(const std::vector<checkpoint::Leaf>& leaves, const std::string& uri);

/// Throws StatusError, naming what differs, where a checkpoint's settings are not those of this run.
void check_same_settings(const TrainingState& saved, const std::map<std::string, std::string>& run,
                         const std::string& uri);

}  // namespace assay::engine
