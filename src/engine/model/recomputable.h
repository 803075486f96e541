// Results that backward makes again: a value of the forward pass with how it is done.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "engine/kernels/recompute.h"

namespace assay::engine {

/// A result of element-wise work: what reads it (a product) keeps `again` instead, where there is one.
struct Recomputable {
  Recomputable(at::Tensor tensor, RecomputePtr recompute = {})  // NOLINT: implicit, a tensor is one that is kept
      : value(std::move(tensor)), again(std::move(recompute)) {}

  at::Tensor value;
  RecomputePtr again;  ///< null: the value is kept
};

/// A residual sum, and its norm, which is made of it again.
struct NormedSum {
  at::Tensor sum_TH;
  Recomputable normed_TH;
};

/// rms_norm() and add_rms_norm() of the kernels; without a block the sum is the residual.
NormedSum normed_sum(const at::Tensor& residual_TH, const at::Tensor& block_TH, const at::Tensor& weight_H, double eps,
                     double multiplier);

/// swiglu() of the kernels.
Recomputable recomputable_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI);

}  // namespace assay::engine
