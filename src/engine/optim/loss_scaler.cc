#include "engine/optim/loss_scaler.h"

#include <algorithm>
#include <cmath>

namespace assay::engine {

LossScaler::LossScaler(const LossScaleOptions& options)
    : options_(options), scale_(options.initial), overflows_left_(options.hysteresis) {}

void LossScaler::update(bool overflow) {
  constexpr double kLeastScale = 0x1p-16;
  constexpr int64_t kHopelessRow = 10;
  exhausted_ = false;
  overflows_in_a_row_ = overflow ? overflows_in_a_row_ + 1 : 0;
  if (overflow) {
    steps_since_overflow_ = 0;
    overflows_left_ = std::max<int64_t>(0, overflows_left_ - 1);
    if (overflows_left_ == 0) {
      exhausted_ = options_.backoff < 1 && overflows_in_a_row_ >= kHopelessRow &&
                   scale_ <= std::max(kLeastScale, options_.minimum);
      scale_ = std::max(scale_ * options_.backoff, options_.minimum);
    }
    return;
  }
  if (++steps_since_overflow_ < options_.growth_interval) {
    return;
  }
  steps_since_overflow_ = 0;
  overflows_left_ = options_.hysteresis;
  // A scale is a float32 where it meets the loss: one that is infinite there would never come down again.
  if (const double grown = scale_ * options_.growth; std::isfinite(static_cast<float>(grown))) {
    scale_ = options_.maximum > 0 ? std::min(grown, options_.maximum) : grown;
  }
}

void LossScaler::restore(const State& state) {
  scale_ = state.scale;
  steps_since_overflow_ = state.steps_since_overflow;
  overflows_left_ = state.overflows_left;
  overflows_in_a_row_ = state.overflows_in_a_row;
}

}  // namespace assay::engine
