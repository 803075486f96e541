// One optimiser step over many tensors or flat buffers, in one pass over memory.
//
// A flat group (one contiguous buffer each for parameters, gradients and moments, such as a shard) is one entry of the
// list, or one entry of views for each stretch with its own weight decay; a launch takes many entries at once. A step
// with a loss scale, clipping and sharded gradients, without a wait for the device:
//
//   at::Tensor stats = gradient_stats({flat_gradient});             // one pass: norm and overflow
//   all_reduce_sum(stats);                                          // only when gradients are sharded
//   const GradientRule rule{.scale = 1 / loss_scale, .max_norm = 1.0, .skip_non_finite = true, .stats = stats};
//   adamw_step({{.parameter = master, .gradient = flat_gradient, .first_moment = m, .second_moment = v,
//                .copy = flat_parameter}}, {.learning_rate = lr, .step = t + 1}, rule);
//   if (!has_non_finite(stats)) ++t;                                // this reads from the device
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/kernels/gradient_rule.h"

namespace assay::engine {

/// A parameter with its gradient and states; all of one shape and on one device. Fast are, on CPU and CUDA, contiguous
/// tensors of these dtypes (T: float32, bfloat16 or float16); others go through libtorch's operations:
///   parameter T, gradient T, moments T or float32
///   parameter and moments T, gradient float32
///   parameter and moments float32, gradient T, copy of T or none
///   parameter, moments and gradient float32, copy T
struct AdamwTensors {
  at::Tensor parameter{};
  at::Tensor gradient{};
  at::Tensor first_moment{};
  at::Tensor second_moment{};
  bool decay = true;  ///< weight decay applies
  at::Tensor copy{};  ///< receives the new parameter, rounded to its own dtype; undefined: none

  /// One of the dtype T of the list above.
  const at::Tensor& narrow() const {
    const bool is_gradient = gradient.scalar_type() != at::kFloat || parameter.scalar_type() == at::kFloat;
    return copy.defined() ? copy : is_gradient ? gradient : parameter;
  }
};

struct AdamwScalars {
  double learning_rate = 1e-5;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  /// From 1. In step 1 the moments are written without being read: they may be memory that was never written before.
  int64_t step = 1;
};

/// Decoupled weight decay Adam (Loshchilov & Hutter 2019), arithmetic in float32, results rounded to the tensors'
/// dtypes as torch.optim.AdamW does.
void adamw_step(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars, const GradientRule& rule = {});

/// Plain stochastic gradient descent with momentum 0: p -= lr * (g + weight_decay * p). Moments and copy are not used.
void sgd_step(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
              const GradientRule& rule = {});

}  // namespace assay::engine
