// Learning-rate schedules with warm-up, as transformers' get_scheduler makes them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::engine {

/// The learning rate of every optimiser step of a run, known from the start. Immutable.
class Schedule {
 public:
  /// `cosine`, `linear` and `constant_with_warmup` rise from zero over ceil(warmup_ratio * total_steps) steps;
  /// `constant` has no warm-up, as in transformers. `cosine_annealing_warmup` rises over floor(warmup_ratio *
  /// total_steps) steps, of which the first has a rate, as ColossalAI's CosineAnnealingWarmupLR. Fails on an unknown
  /// name, a ratio outside [0, 1] or a negative or non-finite rate.
  static Result<Schedule> create(std::string_view name, double learning_rate, double warmup_ratio, int64_t total_steps);

  /// The rate used by step `step` (from 1). The first step of transformers' warm-ups has rate 0: torch's LambdaLR
  /// evaluates its function at the number of steps already made.
  double learning_rate(int64_t step) const;
  int64_t warmup_steps() const { return warmup_steps_; }

 private:
  using Factor = double (*)(int64_t steps_made, int64_t warmup_steps, int64_t total_steps);
  struct Entry;
  static const std::vector<Entry>& table();
  Schedule(Factor factor, double learning_rate, int64_t warmup_steps, int64_t total_steps)
      : factor_(factor), learning_rate_(learning_rate), warmup_steps_(warmup_steps), total_steps_(total_steps) {}

  Factor factor_;
  double learning_rate_;
  int64_t warmup_steps_;
  int64_t total_steps_;
};

}  // namespace assay::engine
