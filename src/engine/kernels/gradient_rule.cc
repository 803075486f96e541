#include "engine/kernels/gradient_rule.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/update_scale.h"
#include "engine/kernels/update_stretches.h"

namespace assay::engine {
namespace {

/// The sums of all gradients that our CPU kernels take, added to `total`.
void add_on_cpu(const std::vector<at::Tensor>& gradients, GradientSums& total) {
  std::vector<int64_t> sizes;
  for (const at::Tensor& gradient : gradients) {
    sizes.push_back(gradient.numel());
  }
  const std::vector<UpdateStretch> stretches = cut(sizes);
  std::vector<GradientSums> sums(stretches.size());
  for_stretches(stretches, [&](int64_t i, const UpdateStretch& s) {
    const at::Tensor& gradient = gradients[s.tensor];
    sums[i] = kernels_for(gradient)->gradient_sums(gradient.const_data_ptr(), s.begin, s.end);
  });
  for (const GradientSums& sum : sums) {
    total.squares += sum.squares;
    total.non_finite += sum.non_finite;
  }
}

at::Tensor stats_aten(const at::Tensor& gradient) {
  return at::stack(
      {to_compute(gradient).square().sum(at::kDouble), gradient.isfinite().logical_not_().sum().to(at::kDouble)});
}

}  // namespace

at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> on_cpu;
  std::vector<at::Tensor> on_device;
  at::Tensor others;
  for (const at::Tensor& gradient : gradients) {
    if (cuda::ops_for(gradient) != nullptr) {
      on_device.push_back(gradient.contiguous());
    } else if (kernels_for(gradient) != nullptr) {
      on_cpu.push_back(gradient.contiguous());
    } else {
      const at::Tensor stats = stats_aten(gradient);
      others = others.defined() ? others + stats : stats;
    }
  }
  if (!on_device.empty()) {
    const at::Tensor stats = cuda::ops_for(on_device.front())->gradient_stats(on_device);
    others = others.defined() ? others + stats : stats;
  }
  if (on_cpu.empty()) {
    return others.defined() ? others : at::zeros({2}, at::kDouble);
  }
  GradientSums total{};
  if (others.defined()) {
    total = {others[0].item<double>(), others[1].item<double>()};
  }
  add_on_cpu(on_cpu, total);
  return at::tensor({total.squares, total.non_finite}, at::kDouble);
}

double gradient_norm(const at::Tensor& stats, double scale) {
  return std::sqrt(stats[0].item<double>()) * scale;
}

bool has_non_finite(const at::Tensor& stats) {
  return overflowed(stats.cpu().const_data_ptr<double>());
}

}  // namespace assay::engine
