// Frozen weights of 2 to 8 bits, in groups of inputs that share a scale and a zero for each output.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/kernels/frozen_weight.h"

namespace assay::engine {

/// A weight [O, I] as GPTQ's checkpoints hold it (Frantar et al. 2022, "GPTQ"): the weight from input i to output o is
/// scales[g, o] * (value[i, o] - zeros[g, o]), where g is the group of i. I is one that fills_words().
struct QuantizedTensors {
  at::Tensor words_WO;    ///< int32 [I * bits / 32, O]: the values of an output one behind the other, low bits first
  at::Tensor scales_GO;   ///< of floating point
  at::Tensor zeros_GO;    ///< uint8
  at::Tensor group_of_I;  ///< int32, each in [0, G)
  int64_t bits = 4;       ///< 2, 3, 4 or 8
};

/// Whether so many values, whatever their bits, fill whole words of 32.
inline bool fills_words(int64_t values) {
  return values > 0 && values % 32 == 0;
}

/// `values` (uint8 [N, M], each below 2^bits; N fills_words()) in words along their first dimension: int32
/// [N * bits / 32, M].
at::Tensor pack_values(const at::Tensor& values_NM, int64_t bits);
/// The way back: uint8 [N, M] of int32 [N * bits / 32, M].
at::Tensor unpack_values(const at::Tensor& words_WM, int64_t bits);

/// Each weight as the nearest of 2^bits values, which are symmetric about zero and reach the largest weight of its
/// group of `group_size` inputs (-1: all of them). Scales are float16, as in checkpoints; a group of zeros has scale 1.
/// `weight_OI` may be a shape. Throws c10::Error where its inputs do not fill words.
QuantizedTensors round_to_nearest(const at::Tensor& weight_OI, int64_t bits, int64_t group_size);

/// Products with a quantised weight, which is made of `dtype` anew for each: as large as the weight is unquantised, it
/// lives for one product. On the CPU, or a shape.
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
