// Frozen weights in the layout that oneDNN's products run on.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <functional>

namespace assay::engine {

/// A frozen weight and its copies in oneDNN's blocked layout, one for each direction, made by the first product in it.
/// Products with them give the same bits as at::mm and take 5 to 15 % less time (Zen 4, AVX512_BF16, the shapes of a
/// 135M model), for twice the weight's memory. Not safe to use from two threads.
class PackedWeight : public torch::CustomClassHolder {
 public:
  /// The values of `weight_OI` must never change. `both_packed` (may be empty) is called with it once it has copies for
  /// both directions and is therefore not read any more.
  explicit PackedWeight(at::Tensor weight_OI, std::function<void(const at::Tensor&)> both_packed = {});

  /// Whether products with `weight_OI` run on oneDNN's generated code here and it is frozen: bfloat16 on a CPU with
  /// AVX-512, or a shape that stands for such a weight.
  static bool suits(const at::Tensor& weight_OI);

  /// x W^T, plus the bias when it is defined: [M, I] -> [M, O].
  at::Tensor product_nt(const at::Tensor& x_MI, const at::Tensor& bias_O);
  /// y W: [M, O] -> [M, I].
  at::Tensor product_nn(const at::Tensor& y_MO);

 private:
  void pack(at::Tensor& packed, const at::Tensor& weight);

  at::Tensor weight_OI_;
  at::Tensor forward_;   ///< opaque to all but oneDNN; undefined until it is needed
  at::Tensor backward_;  ///< likewise, of the transposed weight
  std::function<void(const at::Tensor&)> both_packed_;
};

/// Null: the weight is not packed.
using PackedWeightPtr = c10::intrusive_ptr<PackedWeight>;

}  // namespace assay::engine
