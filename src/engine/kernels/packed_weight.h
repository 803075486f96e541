// Frozen weights in the layout that oneDNN's products run on.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "engine/kernels/frozen_weight.h"

namespace assay::engine {

/// A frozen weight and its copies in oneDNN's blocked layout, one for each direction, made by the first product in it.
/// Products with them give the same bits as at::mm and take 5 to 15 % less time (Zen 4, AVX512_BF16, the shapes of a
/// 135M model), for twice the weight's memory.
class PackedWeight : public FrozenWeight {
 public:
  /// The values of `weight_OI` must never change. `both_packed` (may be empty) is called with it once it has copies for
  /// both directions and is therefore not read any more.
  explicit PackedWeight(at::Tensor weight_OI, std::function<void(const at::Tensor&)> both_packed = {});

  /// Whether products with `weight_OI` run on oneDNN's generated code here and it is frozen: bfloat16 on a CPU with
  /// AVX-512, or a shape that stands for such a weight.
  static bool suits(const at::Tensor& weight_OI);

  at::Tensor product_nt(const at::Tensor& x_MI, const at::Tensor& bias_O) override;
  at::Tensor product_nn(const at::Tensor& y_MO) override;

 private:
  void pack(at::Tensor& packed, const at::Tensor& weight);

  at::Tensor weight_OI_;
  at::Tensor forward_;   ///< opaque to all but oneDNN; undefined until it is needed
  at::Tensor backward_;  ///< likewise, of the transposed weight
  std::function<void(const at::Tensor&)> both_packed_;
};

}  // namespace assay::engine
