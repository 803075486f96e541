// How far a run is, and how long it will still take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "job/event.h"

namespace assay::explore {

/// Fed with a worker's events, of one run after the other.
class RunPace {
 public:
  /// `stop_after_seconds` beyond 0 bounds the time left.
  explicit RunPace(double stop_after_seconds = -1) : stop_after_seconds_(stop_after_seconds) {}

  /// A training begins, which may go on with one before.
  void OnLoaded(const job::Loaded& loaded) {
    planned_steps_ = loaded.planned_steps;
    step_ = 0;
    made_ = 0;
    train_seconds_ = 0;
  }
  void OnStep(const job::Step& step) {
    step_ = step.step;
    ++made_;
    train_seconds_ += step.seconds;
  }

  /// Steps of warm-up come on top of the planned ones.
  int64_t total_steps() const { return std::max(planned_steps_, step_); }
  /// 0: nobody has told.
  int64_t planned_steps() const { return planned_steps_; }
  double train_seconds() const { return train_seconds_; }
  double SecondsLeft() const {
    const double per_step = made_ > 0 ? train_seconds_ / static_cast<double>(made_) : 0;
    const double by_steps = per_step * static_cast<double>(std::max<int64_t>(planned_steps_ - step_, 0));
    return stop_after_seconds_ <= 0 ? by_steps
                                    : std::min(by_steps, std::max(stop_after_seconds_ - train_seconds_, 0.0));
  }

 private:
  double stop_after_seconds_;
  int64_t planned_steps_ = 0;
  int64_t step_ = 0;
  int64_t made_ = 0;  // steps of this training
  double train_seconds_ = 0;
};

/// What a step does in a second: tokens, or images where there are none.
inline double RateOf(const job::Step& step) {
  return static_cast<double>(step.real_tokens > 0 ? step.real_tokens : step.samples) / step.seconds;
}

}  // namespace assay::explore
