// The factor that keeps small gradients representable in 16 bits.
#pragma once

#include <cstdint>

namespace assay::engine {

/// Defaults: torch.amp.GradScaler's.
struct LossScaleOptions {
  double initial = 65536;
  double growth = 2;
  double backoff = 0.5;
  int64_t growth_interval = 2000;  ///< steps without overflow before the scale grows
  int64_t hysteresis = 1;          ///< overflows in a row of growth before the scale falls; ColossalAI has 2
  double minimum = 0;
  double maximum = 0;  ///< 0: none
};

/// Micikevicius et al. 2018, "Mixed Precision Training". Not safe to use from two threads.
class LossScaler {
 public:
  explicit LossScaler(const LossScaleOptions& options);

  double scale() const { return scale_; }
  /// After each step: whether its gradients overflowed (it was skipped then).
  void update(bool overflow);
  /// Whether the last ten steps or more all overflowed, the last one at the lowest scale there is: `minimum`, or 2^-16
  /// where that is less. No scale can cure that, and no other batch did. A scale that never falls (backoff 1) has no
  /// lowest.
  bool exhausted() const { return exhausted_; }

  /// For checkpoints.
  struct State {
    double scale = 1;
    int64_t steps_since_overflow = 0;
    int64_t overflows_left = 1;
    int64_t overflows_in_a_row = 0;
  };
  State state() const { return {scale_, steps_since_overflow_, overflows_left_, overflows_in_a_row_}; }
  void restore(const State& state);

 private:
  LossScaleOptions options_;
  double scale_;
  int64_t steps_since_overflow_ = 0;
  int64_t overflows_left_;
  int64_t overflows_in_a_row_ = 0;
  bool exhausted_ = false;
};

}  // namespace assay::engine
