// A weight that is never trained, in whatever form it is held.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

namespace assay::engine {

/// Products with a weight [O, I] of a linear layer that has no gradient. Not safe to use from two threads.
class FrozenWeight : public torch::CustomClassHolder {
 public:
  /// x W^T, plus the bias when it is defined: [M, I] -> [M, O].
  virtual at::Tensor product_nt(const at::Tensor& x_MI, const at::Tensor& bias_O) = 0;
  /// y W: [M, O] -> [M, I].
  virtual at::Tensor product_nn(const at::Tensor& y_MO) = 0;
};

/// Null: the weight is the tensor itself.
using FrozenWeightPtr = c10::intrusive_ptr<FrozenWeight>;

}  // namespace assay::engine
