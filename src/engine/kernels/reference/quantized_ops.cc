#include <ATen/ATen.h>

#include "engine/kernels/reference/ops.h"

namespace assay::engine::reference {

at::Tensor dequantize(const QuantizedTensors& tensors, at::ScalarType dtype) {
  const int64_t inputs = tensors.group_of_I.size(0);
  // 64 bits hold the end of one word and the begin of the next.
  const at::Tensor words_WO = tensors.words_WO.to(at::kLong).bitwise_and((int64_t{1} << kWordBits) - 1);
  const at::Tensor first_bit_I =
      at::arange(inputs, at::TensorOptions(at::kLong).device(words_WO.device())).mul_(tensors.bits);
  const at::Tensor word_I = first_bit_I.floor_divide(kWordBits);
  const at::Tensor next_I = (word_I + 1).clamp_max_(words_WO.size(0) - 1);
  const at::Tensor bits_IO =
      words_WO.index_select(0, word_I).bitwise_or_(words_WO.index_select(0, next_I).bitwise_left_shift_(kWordBits));
  const at::Tensor value_IO = bits_IO.bitwise_right_shift_(first_bit_I.remainder(kWordBits).unsqueeze(1))
                                  .bitwise_and_((int64_t{1} << tensors.bits) - 1);
  const at::Tensor group_I = tensors.group_of_I.to(at::kLong);
  const at::Tensor difference_IO = value_IO.sub_(tensors.zeros_GO.to(at::kLong).index_select(0, group_I));
  return tensors.scales_GO.to(at::kFloat).index_select(0, group_I).mul_(difference_IO).to(dtype);
}

}  // namespace assay::engine::reference
