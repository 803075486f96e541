// Frozen weights of few bits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/kernels/frozen_weight.h"
#include "engine/kernels/quantized_tensors.h"

namespace assay::engine {

/// `values` (uint8 [N, M], each below 2^bits; N fills_words()) in words along their first dimension: int32
/// [N * bits / 32, M]. Both are on the CPU, or shapes; so are those of the way back.
at::Tensor pack_values(const at::Tensor& values_NM, int64_t bits);
/// The way back: uint8 [N, M] of int32 [N * bits / 32, M].
at::Tensor unpack_values(const at::Tensor& words_WM, int64_t bits);

/// Each weight as the nearest of 2^bits values, which are symmetric about zero and reach the largest weight of its
/// group of `group_size` inputs (-1: all of them). Scales are float16, as in checkpoints; a group of zeros has scale 1.
/// On the device of `weight_OI`, which may be a shape. Throws c10::Error where its inputs do not fill words.
QuantizedTensors round_to_nearest(const at::Tensor& weight_OI, int64_t bits, int64_t group_size);

/// Products with a quantised weight, which is made of `dtype` anew for each: as large as the weight is unquantised, it
/// lives for one product.
class QuantizedWeight : public FrozenWeight {
 public:
  QuantizedWeight(QuantizedTensors tensors, at::ScalarType dtype);

  /// [O, I].
  at::Tensor dequantized() const;

  at::Tensor product_nt(const at::Tensor& x_MI, const at::Tensor& bias_O) override;
  at::Tensor product_nn(const at::Tensor& y_MO) override;

 private:
  QuantizedTensors tensors_;
  at::ScalarType dtype_;
};

}  // namespace assay::engine
