#include "engine/train/stop.h"

#include <fmt/format.h>

namespace assay::engine {
namespace {

constexpr double kWarmupSeconds = 60;
constexpr double kShortestRunSeconds = 180;
constexpr double kStableSeconds = 120;
constexpr int64_t kStableSteps = 10;

}  // namespace

std::optional<Warmup> AutoStop::add(double step_seconds) {
  ++steps_;
  total_seconds_ += step_seconds;
  if (!warmup_ && total_seconds_ > kWarmupSeconds) {
    warmup_ = Warmup{.steps = steps_, .seconds = total_seconds_};
  }
  if (!warmup_ || total_seconds_ <= kShortestRunSeconds) {
    return std::nullopt;
  }
  const bool stable = steps_ - warmup_->steps >= kStableSteps && total_seconds_ - warmup_->seconds >= kStableSeconds;
  return stable ? warmup_ : std::nullopt;
}

Status check_stop_options(const StopOptions& options) {
  if (options.last_step <= 0) {
    return Status::InvalidArgument("the plan has no steps: set max_steps or num_train_epochs to 1 or more");
  }
  if (!options.auto_stop_method.empty() && options.auto_stop_method != AutoStop::kName) {
    return Status::InvalidArgument(fmt::format("unknown auto_stop_method '{}' (leave it empty, or use {})",
                                               options.auto_stop_method, AutoStop::kName));
  }
  return Status::Ok();
}

std::string_view StopRule::after_last_step(int64_t step) const {
  if (is_out_of_patience()) {  // of a run that goes on behind its end
    return "early_stopping";
  }
  if (step < options_.last_step) {
    return {};
  }
  return options_.last_step_is_max_steps ? "max_steps" : "epochs";
}

std::string_view StopRule::after_evaluation(double loss) {
  if (loss < evaluations_.best_loss) {
    evaluations_ = {.best_loss = loss, .since_best = 0};
    return {};
  }
  ++evaluations_.since_best;
  return is_out_of_patience() ? "early_stopping" : std::string_view();
}

std::string_view StopRule::after_step(int64_t step, double step_seconds, double elapsed_seconds) {
  if (!options_.auto_stop_method.empty()) {
    if (const auto warmup = auto_stop_.add(step_seconds)) {
      warmup_ = *warmup;
      return "auto_stop";
    }
  }
  if (const std::string_view over = after_last_step(step); !over.empty()) {
    return over;
  }
  if (options_.stop_after_seconds > 0 && elapsed_seconds > options_.stop_after_seconds) {
    return "stop_after_seconds";
  }
  return {};
}

}  // namespace assay::engine
