#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/update_arguments.h"
#include "engine/kernels/update_stretches.h"

namespace assay::engine::cpu {
namespace {

using AdamwKernel = void (*)(const AdamwArguments&, int64_t, int64_t);

/// The loop for the dtypes of these tensors, which fits_adamw().
AdamwKernel adamw_kernel(const AdamwTensors& t) {
  const at::ScalarType narrow = t.narrow().scalar_type();
  const TypedKernels& loops = loops_for(t.narrow());
  const bool wide_gradient = t.gradient.scalar_type() != narrow;
  if (t.parameter.scalar_type() != narrow) {
    return wide_gradient ? loops.adamw_master_wide_gradient : loops.adamw_master;
  }
  if (wide_gradient) {
    return loops.adamw_wide_gradient;
  }
  return t.first_moment.scalar_type() == narrow ? loops.adamw : loops.adamw_wide_states;
}

}  // namespace

void adamw(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule) {
  const UpdateScale scale = update_scale(plain(rule));
  if (scale.skip) {
    return;
  }
  std::vector<AdamwKernel> kernels;
  std::vector<AdamwArguments> arguments;
  std::vector<int64_t> sizes;
  for (const AdamwTensors& t : tensors) {
    kernels.push_back(adamw_kernel(t));
    arguments.push_back(adamw_arguments(t, scalars));
    arguments.back().gradient_scale = scale.factor;
    sizes.push_back(t.parameter.numel());
  }
  for_stretches(cut(sizes),
                [&](int64_t, const UpdateStretch& s) { kernels[s.tensor](arguments[s.tensor], s.begin, s.end); });
}

void sgd(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
         const GradientRule& rule) {
  const UpdateScale scale = update_scale(plain(rule));
  if (scale.skip) {
    return;
  }
  for (const AdamwTensors& t : tensors) {
    const SgdArguments arguments{t.parameter.mutable_data_ptr(), t.gradient.const_data_ptr(),
                                 static_cast<float>(learning_rate), static_cast<float>(t.decay ? weight_decay : 0.0),
                                 scale.factor};
    const TypedKernels& loops = loops_for(t.parameter);
    parallel_elements(t.parameter.numel(), [&](int64_t begin, int64_t end) { loops.sgd(arguments, begin, end); });
  }
}

at::Tensor gradient_stats(const std::vector<at::Tensor>& gradients) {
  std::vector<int64_t> sizes;
  for (const at::Tensor& gradient : gradients) {
    sizes.push_back(gradient.numel());
  }
  const std::vector<UpdateStretch> stretches = cut(sizes);
  std::vector<GradientSums> sums(stretches.size());
  for_stretches(stretches, [&](int64_t i, const UpdateStretch& s) {
    const at::Tensor& gradient = gradients[s.tensor];
    sums[i] = loops_for(gradient).gradient_sums(gradient.const_data_ptr(), s.begin, s.end);
  });
  GradientSums total{};
  for (const GradientSums& sum : sums) {
    total.squares += sum.squares;
    total.non_finite += sum.non_finite;
  }
  return at::tensor({total.squares, total.non_finite}, at::kDouble);
}

}  // namespace assay::engine::cpu
