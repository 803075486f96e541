#include "engine/kernels/optimizer_step.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "engine/kernels/by_row.h"

namespace assay::engine {
namespace {

bool all_contiguous(const std::vector<at::Tensor>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const at::Tensor& t) { return t.is_contiguous(); });
}

/// Whether a parameter and its gradient are laid out as the kernels of sgd want them.
bool fits_sgd(const AdamwTensors& t) {
  return t.gradient.scalar_type() == t.parameter.scalar_type() && all_contiguous({t.parameter, t.gradient});
}

/// The same for adamw; see AdamwTensors for the dtypes.
bool fits_adamw(const AdamwTensors& t) {
  const auto parameter = t.parameter.scalar_type();
  const auto gradient = t.gradient.scalar_type();
  const auto state = t.first_moment.scalar_type();
  if (t.second_moment.scalar_type() != state ||
      !all_contiguous({t.parameter, t.gradient, t.first_moment, t.second_moment})) {
    return false;
  }
  if (!t.copy.defined() && gradient == parameter) {
    return state == parameter || state == at::kFloat;
  }
  if (!t.copy.defined() && gradient == at::kFloat) {
    return state == parameter;
  }
  const bool wide = parameter == at::kFloat && state == at::kFloat;
  return wide && (!t.copy.defined() ||
                  (t.copy.is_contiguous() && (gradient == t.copy.scalar_type() || gradient == at::kFloat)));
}

const Operations& adamw_row(const AdamwTensors& t) {
  return operations_if(fits_adamw(t) && &operations(t.narrow()) == &operations(t.parameter), t.parameter);
}

}  // namespace

void adamw_step(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule) {
  const at::NoGradGuard no_grad;
  by_row(tensors, adamw_row,
         [&](const Operations& row, const std::vector<AdamwTensors>& of_row) { row.adamw(of_row, scalars, rule); });
}

void sgd_step(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
              const GradientRule& rule) {
  const at::NoGradGuard no_grad;
  by_row(
      tensors, [](const AdamwTensors& t) -> const Operations& { return operations_if(fits_sgd(t), t.parameter); },
      [&](const Operations& row, const std::vector<AdamwTensors>& of_row) {
        row.sgd(of_row, learning_rate, weight_decay, rule);
      });
}

}  // namespace assay::engine
