#include "engine/kernels/optimizer_step.h"

#include <cmath>
#include <numeric>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"

namespace assay::engine {
namespace {

/// A stretch of one tensor of a list; the list is cut the same way whatever the number of threads.
struct Stretch {
  size_t tensor;
  int64_t begin;
  int64_t end;
};

/// Cuts tensors of the given sizes into stretches that keep a thread busy for a while and fit in its cache.
std::vector<Stretch> cut(const std::vector<int64_t>& sizes) {
  constexpr int64_t kStretch = 65536;
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < sizes.size(); ++i) {
    for (int64_t begin = 0; begin < sizes[i]; begin += kStretch) {
      stretches.push_back({i, begin, std::min(sizes[i], begin + kStretch)});
    }
  }
  return stretches;
}

template <typename Body>
void for_stretches(const std::vector<Stretch>& stretches, const Body& body) {
  at::parallel_for(0, static_cast<int64_t>(stretches.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      body(i, stretches[i]);
    }
  });
}

AdamwArguments adamw_arguments(const AdamwTensors& t, const AdamwScalars& s) {
  const auto step = static_cast<double>(s.step);
  return {.parameter = t.parameter.mutable_data_ptr(),
          .gradient = t.gradient.const_data_ptr(),
          .first_moment = t.first_moment.mutable_data_ptr(),
          .second_moment = t.second_moment.mutable_data_ptr(),
          .one_minus_beta1 = static_cast<float>(1.0 - s.beta1),
          .beta2 = static_cast<float>(s.beta2),
          .one_minus_beta2 = static_cast<float>(1.0 - s.beta2),
          .eps = static_cast<float>(s.eps),
          .decay_factor = static_cast<float>(t.decay ? 1.0 - s.learning_rate * s.weight_decay : 1.0),
          .step_size = static_cast<float>(s.learning_rate / (1.0 - std::pow(s.beta1, step))),
          .inverse_correction2 = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(s.beta2, step))),
          .gradient_scale = static_cast<float>(s.gradient_scale)};
}

void adamw_aten(const AdamwTensors& t, const AdamwScalars& s) {
  const at::Tensor gradient = to_compute(t.gradient) * s.gradient_scale;
  const at::Tensor m = to_compute(t.first_moment).lerp(gradient, 1.0 - s.beta1);
  const at::Tensor v = (to_compute(t.second_moment) * s.beta2).addcmul_(gradient, gradient, 1.0 - s.beta2);
  const at::Tensor parameter = to_compute(t.parameter) * (t.decay ? 1.0 - s.learning_rate * s.weight_decay : 1.0);
  const auto step = static_cast<double>(s.step);
  const at::Tensor denominator = (v.sqrt() / std::sqrt(1.0 - std::pow(s.beta2, step))).add_(s.eps);
  t.parameter.copy_(parameter.addcdiv(m, denominator, -s.learning_rate / (1.0 - std::pow(s.beta1, step))));
  t.first_moment.copy_(m);
  t.second_moment.copy_(v);
}

bool same_memory_order(const at::Tensor& a, const at::Tensor& b) {
  return a.is_contiguous() && b.is_contiguous();
}

/// Whether a parameter and its gradient are laid out as kernels of ours want them.
bool fits_update(const AdamwTensors& t) {
  return t.gradient.scalar_type() == t.parameter.scalar_type() && same_memory_order(t.parameter, t.gradient);
}

/// The same with the moments of AdamW.
bool fits_adamw(const AdamwTensors& t) {
  const auto state = t.first_moment.scalar_type();
  return fits_update(t) && t.second_moment.scalar_type() == state &&
         same_memory_order(t.first_moment, t.second_moment) &&
         (state == t.parameter.scalar_type() || state == at::kFloat);
}

using AdamwKernel = void (*)(const AdamwArguments&, int64_t, int64_t);

/// The CPU's kernel for the dtypes of these tensors; null where there is none.
AdamwKernel adamw_kernel(const AdamwTensors& t) {
  const TypedKernels* kernels = fits_adamw(t) ? kernels_for(t.parameter) : nullptr;
  if (kernels == nullptr) {
    return nullptr;
  }
  return t.first_moment.scalar_type() == t.parameter.scalar_type() ? kernels->adamw : kernels->adamw_wide_states;
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

void adamw_step(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars) {
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
      adamw_aten(t, scalars);
    }
  }
  if (on_device.ops != nullptr) {
    on_device.ops->adamw(on_device.tensors, on_device.arguments);
  }
  for_stretches(cut(sizes), [&](int64_t, const Stretch& s) { kernels[s.tensor](arguments[s.tensor], s.begin, s.end); });
}

void sgd_step(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
              double gradient_scale) {
  const at::NoGradGuard no_grad;
  CudaUpdate<SgdArguments> on_device;
  for (const AdamwTensors& t : tensors) {
    const double decay = t.decay ? weight_decay : 0.0;
    const cuda::CudaOps* ops = fits_update(t) ? cuda::ops_for(t.parameter) : nullptr;
    const TypedKernels* kernels = fits_update(t) ? kernels_for(t.parameter) : nullptr;
    if (ops == nullptr && kernels == nullptr) {
      const at::Tensor parameter = to_compute(t.parameter);
      const at::Tensor update = (to_compute(t.gradient) * gradient_scale).add_(parameter, decay);
      t.parameter.copy_(parameter.add(update, -learning_rate));
      continue;
    }
    const SgdArguments arguments{t.parameter.mutable_data_ptr(), t.gradient.const_data_ptr(),
                                 static_cast<float>(learning_rate), static_cast<float>(decay),
                                 static_cast<float>(gradient_scale)};
    if (ops != nullptr) {
      on_device.add(ops, t, arguments);
      continue;
    }
    parallel_elements(t.parameter.numel(), [&](int64_t begin, int64_t end) { kernels->sgd(arguments, begin, end); });
  }
  if (on_device.ops != nullptr) {
    on_device.ops->sgd(on_device.tensors, on_device.arguments);
  }
}

double gradient_norm(const std::vector<at::Tensor>& gradients) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> on_cpu;
  std::vector<at::Tensor> on_device;
  at::Tensor others;
  std::vector<int64_t> sizes;
  for (const at::Tensor& gradient : gradients) {
    if (cuda::ops_for(gradient) != nullptr) {
      on_device.push_back(gradient.contiguous());
    } else if (kernels_for(gradient) != nullptr) {
      on_cpu.push_back(gradient.contiguous());
      sizes.push_back(gradient.numel());
    } else {
      const at::Tensor squares = to_compute(gradient).square().sum(at::kDouble);
      others = others.defined() ? others + squares : squares;
    }
  }
  // Reading a result back waits for the device: once, not for each gradient.
  double total = others.defined() ? others.item<double>() : 0.0;
  if (!on_device.empty()) {
    total += cuda::ops_for(on_device.front())->sum_of_squares(on_device).item<double>();
  }
  const std::vector<Stretch> stretches = cut(sizes);
  std::vector<double> sums(stretches.size());
  for_stretches(stretches, [&](int64_t i, const Stretch& s) {
    const at::Tensor& gradient = on_cpu[s.tensor];
    sums[i] = kernels_for(gradient)->sum_of_squares(gradient.const_data_ptr(), s.begin, s.end);
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), total));
}

}  // namespace assay::engine
