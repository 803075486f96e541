#include "engine/kernels/gradient_rule.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

#include "engine/kernels/by_row.h"
#include "engine/kernels/tensor_support.h"
#include "engine/kernels/update_scale.h"

namespace assay::engine {

at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> contiguous;
  for (const at::Tensor& gradient : gradients) {
    contiguous.push_back(gradient.contiguous());
  }
  at::Tensor total;
  by_row(
      contiguous, [](const at::Tensor& gradient) -> const Operations& { return operations(gradient); },
      [&](const Operations& row, const std::vector<at::Tensor>& of_row) {
        const at::Tensor stats = row.gradient_stats(of_row);
        total = total.defined() ? total + stats : stats;
      });
  return total.defined() ? total : at::zeros({2}, at::kDouble);
}

RuleTensors rule_tensors(const GradientRule& rule) {
  if (!rule.stats.defined()) {
    return {at::scalar_tensor(rule.scale, at::kDouble), {}};
  }
  at::Tensor factor = at::full_like(rule.stats[0], rule.scale);
  if (rule.max_norm > 0) {
    const at::Tensor norm = rule.stats[0].sqrt() * rule.scale;
    factor = factor * (rule.max_norm / (norm + 1e-6)).clamp_max(1.0);
  }
  const auto overflow = [&] { return rule.stats[1].gt(0).logical_or(rule.stats[0].isfinite().logical_not()); };
  return {factor, rule.skip_non_finite ? overflow() : at::Tensor()};
}

double gradient_norm(const at::Tensor& stats, double scale) {
  return std::sqrt(stats[0].item<double>()) * scale;
}

bool has_non_finite(const at::Tensor& stats) {
  return overflowed(stats.cpu().const_data_ptr<double>());
}

}  // namespace assay::engine
