#include "engine/kernels/optimizer_step.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/update_scale.h"
#include "engine/kernels/update_stretches.h"

namespace assay::engine {
namespace {

PlainRule plain(const GradientRule& rule) {
  return {.stats = rule.stats.defined() ? rule.stats.const_data_ptr<double>() : nullptr,
          .scale = rule.scale,
          .max_norm = rule.max_norm,
          .skip_non_finite = rule.skip_non_finite};
}

/// update_scale() as libtorch's operations, for tensors without kernels of ours.
struct ScaleTensors {
  at::Tensor factor;  ///< a scalar, on the device of the statistics or, without any, on the CPU
  at::Tensor skip;    ///< likewise; undefined: never
};

ScaleTensors scale_tensors(const GradientRule& rule) {
  if (!rule.stats.defined()) {
    return {at::scalar_tensor(rule.scale, at::kDouble), {}};
  }
  at::Tensor factor = at::full_like(rule.stats[0], rule.scale);
  if (rule.max_norm > 0) {
    const at::Tensor norm = rule.stats[0].sqrt() * rule.scale;
    factor = factor * (rule.max_norm / (norm + 1e-6)).clamp_max(1.0);
  }
  const auto overflowed = [&] { return rule.stats[1].gt(0).logical_or(rule.stats[0].isfinite().logical_not()); };
  return {factor, rule.skip_non_finite ? overflowed() : at::Tensor()};
}

void assign(const at::Tensor& target, const at::Tensor& value, const at::Tensor& skip) {
  target.copy_(skip.defined() ? at::where(skip, target, value.to(target.scalar_type())) : value);
}

AdamwArguments adamw_arguments(const AdamwTensors& t, const AdamwScalars& s) {
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

void adamw_aten(const AdamwTensors& t, const AdamwScalars& s, const GradientRule& rule) {
  const ScaleTensors scale = scale_tensors(rule);
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

void sgd_aten(const AdamwTensors& t, double learning_rate, double decay, const GradientRule& rule) {
  const ScaleTensors scale = scale_tensors(rule);
  const at::Tensor parameter = to_compute(t.parameter);
  const at::Tensor gradient = to_compute(t.gradient) * scale.factor.to(compute_dtype(t.gradient));
  assign(t.parameter, parameter.add(gradient.add(parameter, decay), -learning_rate), scale.skip);
}

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
  const bool wide = parameter == at::kFloat && state == at::kFloat;
  return wide && (!t.copy.defined() ||
                  (t.copy.is_contiguous() && (gradient == t.copy.scalar_type() || gradient == at::kFloat)));
}

using AdamwKernel = void (*)(const AdamwArguments&, int64_t, int64_t);

/// The CPU's kernel for the dtypes of these tensors; null where there is none.
AdamwKernel adamw_kernel(const AdamwTensors& t) {
  const at::Tensor& low = t.copy.defined() ? t.copy : t.gradient;
  const TypedKernels* kernels = fits_adamw(t) ? kernels_for(low) : nullptr;
  if (kernels == nullptr || kernels_for(t.parameter) == nullptr) {
    return nullptr;
  }
  if (t.parameter.scalar_type() == low.scalar_type()) {
    return t.first_moment.scalar_type() == low.scalar_type() ? kernels->adamw : kernels->adamw_wide_states;
  }
  return t.gradient.scalar_type() == low.scalar_type() ? kernels->adamw_master : kernels->adamw_master_wide_gradient;
}

/// Tensors that a launch of our CUDA kernels updates together.
template <typename Arguments>
struct CudaUpdate {
  const cuda::CudaOps* ops = nullptr;
  std::vector<AdamwTensors> tensors;
  std::vector<Arguments> arguments;

  void add(const cuda::CudaOps* operations, const AdamwTensors& t, const Arguments& a) {
    ops = operations;
    tensors.push_back(t);
    arguments.push_back(a);
  }
};

}  // namespace

void adamw_step(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule) {
  const at::NoGradGuard no_grad;
  std::vector<AdamwKernel> kernels;
  std::vector<AdamwArguments> arguments;
  std::vector<int64_t> sizes;
  CudaUpdate<AdamwArguments> on_device;
  for (const AdamwTensors& t : tensors) {
    if (const cuda::CudaOps* ops = cuda::ops_for(t.parameter); ops != nullptr && fits_adamw(t)) {
      on_device.add(ops, t, adamw_arguments(t, scalars));
    } else if (const AdamwKernel kernel = adamw_kernel(t); kernel != nullptr) {
      kernels.push_back(kernel);
      arguments.push_back(adamw_arguments(t, scalars));
      sizes.push_back(t.parameter.numel());
    } else {
      adamw_aten(t, scalars, rule);
    }
  }
  if (on_device.ops != nullptr) {
    on_device.ops->adamw(on_device.tensors, on_device.arguments, plain(rule));
  }
  if (kernels.empty()) {
    return;
  }
  const UpdateScale scale = update_scale(plain(rule));
  for (AdamwArguments& a : arguments) {
    a.gradient_scale = scale.factor;
  }
  if (!scale.skip) {
    for_stretches(cut(sizes),
                  [&](int64_t, const UpdateStretch& s) { kernels[s.tensor](arguments[s.tensor], s.begin, s.end); });
  }
}

void sgd_step(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
              const GradientRule& rule) {
  const at::NoGradGuard no_grad;
  CudaUpdate<SgdArguments> on_device;
  for (const AdamwTensors& t : tensors) {
    const double decay = t.decay ? weight_decay : 0.0;
    const cuda::CudaOps* ops = fits_sgd(t) ? cuda::ops_for(t.parameter) : nullptr;
    const TypedKernels* kernels = fits_sgd(t) ? kernels_for(t.parameter) : nullptr;
    if (ops == nullptr && kernels == nullptr) {
      sgd_aten(t, learning_rate, decay, rule);
      continue;
    }
    SgdArguments arguments{t.parameter.mutable_data_ptr(), t.gradient.const_data_ptr(),
                           static_cast<float>(learning_rate), static_cast<float>(decay), 1.0F};
    if (ops != nullptr) {
      on_device.add(ops, t, arguments);
      continue;
    }
    const UpdateScale scale = update_scale(plain(rule));
    arguments.gradient_scale = scale.factor;
    if (!scale.skip) {
      parallel_elements(t.parameter.numel(), [&](int64_t begin, int64_t end) { kernels->sgd(arguments, begin, end); });
    }
  }
  if (on_device.ops != nullptr) {
    on_device.ops->sgd(on_device.tensors, on_device.arguments, plain(rule));
  }
}

}  // namespace assay::engine
