#include "engine/kernels/optimizer_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace assay::engine {
namespace {

void adamw_aten(const AdamwTensors& t, const AdamwScalars& s) {
  const at::Tensor gradient = t.gradient.to(at::kFloat) * s.gradient_scale;
  at::Tensor parameter = t.parameter.to(at::kFloat);
  const at::Tensor m = t.first_moment.to(at::kFloat).lerp(gradient, 1.0 - s.beta1);
  const at::Tensor v = t.second_moment.to(at::kFloat).mul(s.beta2).addcmul_(gradient, gradient, 1.0 - s.beta2);
  if (t.decay && s.weight_decay != 0.0) {
    parameter = parameter * (1.0 - s.learning_rate * s.weight_decay);
  }
  const double correction1 = 1.0 - std::pow(s.beta1, static_cast<double>(s.step));
  const double correction2 = std::sqrt(1.0 - std::pow(s.beta2, static_cast<double>(s.step)));
  const at::Tensor denominator = v.sqrt().div_(correction2).add_(s.eps);
  t.parameter.copy_(parameter.addcdiv(m, denominator, -s.learning_rate / correction1));
  t.first_moment.copy_(m);
  t.second_moment.copy_(v);
}

}  // namespace

void adamw_step(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars) {
  const at::NoGradGuard no_grad;
  for (const AdamwTensors& t : tensors) {
    adamw_aten(t, scalars);
  }
}

void sgd_step(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
              double gradient_scale) {
  const at::NoGradGuard no_grad;
  for (const AdamwTensors& t : tensors) {
    at::Tensor update = t.gradient.to(at::kFloat) * gradient_scale;
    const at::Tensor parameter = t.parameter.to(at::kFloat);
    if (t.decay && weight_decay != 0.0) {
      update.add_(parameter, weight_decay);
    }
    t.parameter.copy_(parameter.add(update, -learning_rate));
  }
}

double gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  double sum_of_squares = 0.0;
  for (const at::Tensor& gradient : gradients) {
    const double norm = at::linalg_vector_norm(gradient, 2, {}, false, at::kFloat).item<double>();
    sum_of_squares += norm * norm;
  }
  return std::sqrt(sum_of_squares);
}

}  // namespace assay::engine
