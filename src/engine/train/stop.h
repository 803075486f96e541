// When a training run ends.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/checkpoint/training_state.h"

namespace assay::engine {

/// The first steps of a run, which its figures leave out.
struct Warmup {
  int64_t steps = 0;
  double seconds = 0;
};

/// The rule WARMUP_60S_STABLE_120S_OR_10_STEPS of the reference's SFTTrainer actuator, over the durations of steps:
/// warm-up lasts up to and including the step during which 60 s are exceeded; a run is long enough when it took more
/// than 180 s in all and the steps after warm-up are at least 10 and took at least 120 s.
class AutoStop {
 public:
  static constexpr std::string_view kName = "WARMUP_60S_STABLE_120S_OR_10_STEPS";

  /// Takes the duration of the next step; returns the warm-up when the run may end here.
  std::optional<Warmup> add(double step_seconds);

 private:
  int64_t steps_ = 0;
  double total_seconds_ = 0;
  std::optional<Warmup> warmup_;  ///< set once 60 s are exceeded
};

struct StopOptions {
  int64_t last_step = 0;  ///< that max_steps or the epochs ask for
  bool last_step_is_max_steps = false;
  double stop_after_seconds = -1;     ///< 0 or less: never
  std::string auto_stop_method = {};  ///< AutoStop::kName or empty
  int64_t early_stopping = 0;         ///< evaluations in a row without a better loss; 0: as many as there are
};

/// Ok, or one line that says what is wrong with the options.
Status check_stop_options(const StopOptions& options);

/// What may end a run, as job::Ended's stopped_by names it; first: nothing yet.
inline constexpr std::array<std::string_view, 6> kStopCauses = {
    "", "max_steps", "epochs", "stop_after_seconds", "auto_stop", "early_stopping"};

/// Asks all stop rules after each step.
class StopRule {
 public:
  /// `evaluations`: those of the run that this one goes on with.
  explicit StopRule(const StopOptions& options, const EvaluationCourse& evaluations = {})
      : options_(options), evaluations_(evaluations) {}

  /// Why the run ends after step `step`: one of kStopCauses. `elapsed_seconds` counts from the
  /// start of the training loop.
  std::string_view after_step(int64_t step, double step_seconds, double elapsed_seconds);
  /// What ends a run that has made `step` steps whatever they took: nothing before the last one.
  std::string_view after_last_step(int64_t step) const;
  /// Likewise after an evaluation with `loss`; patience as in transformers' EarlyStoppingCallback.
  std::string_view after_evaluation(double loss);
  const EvaluationCourse& evaluations() const { return evaluations_; }
  /// Not zero only when the auto-stop rule ended the run.
  Warmup warmup() const { return warmup_; }

 private:
  bool is_out_of_patience() const {
    return options_.early_stopping > 0 && evaluations_.since_best >= options_.early_stopping;
  }

  StopOptions options_;
  EvaluationCourse evaluations_;
  AutoStop auto_stop_;
  Warmup warmup_;
};

}  // namespace assay::engine
