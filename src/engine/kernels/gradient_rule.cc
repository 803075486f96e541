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

double gradient_norm(const at::Tensor& stats, double scale) {
  return std::sqrt(stats[0].item<double>()) * scale;
}

bool has_non_finite(const at::Tensor& stats) {
  return overflowed(stats.cpu().const_data_ptr<double>());
}

}  // namespace assay::engine
