// What becomes of gradients before an update uses them, decided the same way on the host and inside CUDA kernels.
#pragma once

#include <cmath>

#include "engine/kernels/cuda/lanes.h"

namespace assay::engine {

/// A GradientRule (gradient_rule.h) as plain numbers.
struct PlainRule {
  const double* stats;  ///< [2]: sum of squares, number of elements that are not finite; null: unknown
  double scale;
  double max_norm;
  bool skip_non_finite;
};

/// Whether an element is not finite, or the sum of their squares is beyond float32.
ASSAY_DEVICE_CODE inline bool overflowed(const double* stats) {
  // An infinity less itself is not a number either, and that equals nothing.
  return stats[1] > 0.0 || stats[0] - stats[0] != 0.0;
}

struct UpdateScale {
  float factor;  ///< of the gradients
  bool skip;     ///< the update must change nothing
};

/// min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 when `max_norm` is 0. A norm that is not a
/// number gives a factor that is not a number either.
ASSAY_DEVICE_CODE inline double clip_factor(double norm, double max_norm) {
  if (max_norm <= 0) {
    return 1.0;
  }
  const double factor = max_norm / (norm + 1e-6);
  return factor > 1.0 ? 1.0 : factor;
}

ASSAY_DEVICE_CODE inline UpdateScale update_scale(const PlainRule& rule) {
  if (rule.stats == nullptr) {
    return {static_cast<float>(rule.scale), false};
  }
  const double norm = std::sqrt(rule.stats[0]) * rule.scale;
  return {static_cast<float>(rule.scale * clip_factor(norm, rule.max_norm)),
          rule.skip_non_finite && overflowed(rule.stats)};
}

}  // namespace assay::engine
