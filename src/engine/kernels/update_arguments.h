// Arguments of an update as the plain numbers and pointers that kernels take, the same for every device. Private to
// engine/kernels.
#pragma once

#include <cmath>

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/optimizer_step.h"
#include "engine/kernels/tensor_support.h"
#include "engine/kernels/update_scale.h"

namespace assay::engine {

inline PlainRule plain(const GradientRule& rule) {
  return {.stats = rule.stats.defined() ? rule.stats.const_data_ptr<double>() : nullptr,
          .scale = rule.scale,
          .max_norm = rule.max_norm,
          .skip_non_finite = rule.skip_non_finite};
}

/// Without the gradient's scale, which the rule decides.
inline AdamwArguments adamw_arguments(const AdamwTensors& t, const AdamwScalars& s) {
  const auto step = static_cast<double>(s.step);
  return {.parameter = t.parameter.mutable_data_ptr(),
          .gradient = t.gradient.const_data_ptr(),
          .first_moment = t.first_moment.mutable_data_ptr(),
          .second_moment = t.second_moment.mutable_data_ptr(),
          .copy = mutable_data_or_null(t.copy),
          .one_minus_beta1 = static_cast<float>(1.0 - s.beta1),
          .beta2 = static_cast<float>(s.beta2),
          .one_minus_beta2 = static_cast<float>(1.0 - s.beta2),
          .eps = static_cast<float>(s.eps),
          .decay_factor = static_cast<float>(t.decay ? 1.0 - s.learning_rate * s.weight_decay : 1.0),
          .step_size = static_cast<float>(s.learning_rate / (1.0 - std::pow(s.beta1, step))),
          .inverse_correction2 = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(s.beta2, step))),
          .gradient_scale = 1.0F,
          .first_step = s.step == 1};
}

}  // namespace assay::engine
