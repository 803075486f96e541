#include <cmath>

#include "engine/kernels/reference/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::reference {
namespace {

void assign(const at::Tensor& target, const at::Tensor& value, const at::Tensor& skip) {
  target.copy_(skip.defined() ? at::where(skip, target, value.to(target.scalar_type())) : value);
}

void adamw_one(const AdamwTensors& t, const AdamwScalars& s, const GradientRule& rule) {
  const RuleTensors scale = rule_tensors(rule);
  const at::Tensor gradient = to_compute(t.gradient) * scale.factor.to(compute_dtype(t.gradient));
  const auto moment = [&](const at::Tensor& x) { return s.step == 1 ? at::zeros_like(gradient) : to_compute(x); };
  const at::Tensor m = moment(t.first_moment).lerp(gradient, 1.0 - s.beta1);
  const at::Tensor v = (moment(t.second_moment) * s.beta2).addcmul_(gradient, gradient, 1.0 - s.beta2);
  const at::Tensor parameter = to_compute(t.parameter) * (t.decay ? 1.0 - s.learning_rate * s.weight_decay : 1.0);
  const auto step = static_cast<double>(s.step);
  const at::Tensor denominator = (v.sqrt() / std::sqrt(1.0 - std::pow(s.beta2, step))).add_(s.eps);
  const at::Tensor updated = parameter.addcdiv(m, denominator, -s.learning_rate / (1.0 - std::pow(s.beta1, step)));
  assign(t.parameter, updated, scale.skip);
  assign(t.first_moment, m, scale.skip);
  assign(t.second_moment, v, scale.skip);
  if (t.copy.defined()) {
    assign(t.copy, updated, scale.skip);
  }
}

void sgd_one(const AdamwTensors& t, double learning_rate, double decay, const GradientRule& rule) {
  const RuleTensors scale = rule_tensors(rule);
  const at::Tensor parameter = to_compute(t.parameter);
  const at::Tensor gradient = to_compute(t.gradient) * scale.factor.to(compute_dtype(t.gradient));
  assign(t.parameter, parameter.add(gradient.add(parameter, decay), -learning_rate), scale.skip);
}

at::Tensor stats_of(const at::Tensor& gradient) {
  return at::stack(
      {to_compute(gradient).square().sum(at::kDouble), gradient.isfinite().logical_not_().sum().to(at::kDouble)});
}

}  // namespace

void adamw(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule) {
  for (const AdamwTensors& t : tensors) {
    adamw_one(t, scalars, rule);
  }
}

void sgd(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
         const GradientRule& rule) {
  for (const AdamwTensors& t : tensors) {
    sgd_one(t, learning_rate, t.decay ? weight_decay : 0.0, rule);
  }
}

at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients) {
  at::Tensor total;
  for (const at::Tensor& gradient : gradients) {
    total = total.defined() ? total + stats_of(gradient) : stats_of(gradient);
  }
  return total;
}

}  // namespace assay::engine::reference
