// Results that backward makes again: a value of the forward pass with how it is done.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "engine/kernels/gelu_form.h"
#include "engine/kernels/recompute.h"

namespace assay::engine {

/// A result of element-wise work: what reads it (a product) keeps `again` instead, where there is one.
struct Recomputable {
  Recomputable(at::Tensor tensor, RecomputePtr recompute = {})  // NOLINT: implicit, a tensor is one that is kept
      : value(std::move(tensor)), again(std::move(recompute)) {}

  at::Tensor value;
  RecomputePtr again;  ///< null: the value is kept
};

/// swiglu() of the kernels.
Recomputable recomputable_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI);

/// weighted_swiglu() of the kernels.
Recomputable recomputable_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI, const at::Tensor& weights_T);

/// gelu() of the kernels.
Recomputable recomputable_gelu(const at::Tensor& x_TI, GeluForm form);

}  // namespace assay::engine
