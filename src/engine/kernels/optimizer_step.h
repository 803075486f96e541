// One optimiser step over many tensors, in one pass over memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace assay::engine {

/// A parameter with its gradient and states; all of one shape. States may be of another dtype than the parameter.
struct AdamwTensors {
  at::Tensor parameter;
  at::Tensor gradient;
  at::Tensor first_moment;
  at::Tensor second_moment;
  bool decay = true;  ///< weight decay applies
};

struct AdamwScalars {
  double learning_rate = 1e-5;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  int64_t step = 1;             ///< from 1
  double gradient_scale = 1.0;  ///< gradients are multiplied by this first: clipping, accumulation
};

/// Decoupled weight decay Adam (Loshchilov & Hutter 2019), arithmetic in float32, results rounded to the tensors'
/// dtypes as torch.optim.AdamW does.
void adamw_step(const std::vector<AdamwTensors>& tensors, const AdamwScalars& scalars);

/// Plain stochastic gradient descent with momentum 0: p -= lr * (scale * g + weight_decay * p).
void sgd_step(const std::vector<AdamwTensors>& tensors, double learning_rate, double weight_decay,
              double gradient_scale);

/// Euclidean norm over all gradients, accumulated in float32 or better, as torch.nn.utils.clip_grad_norm_ computes it.
double gradient_norm(const std::vector<at::Tensor>& gradients);

}  // namespace assay::engine
