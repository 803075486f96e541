#include <ATen/ATen.h>

#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/parallel.h"

namespace assay::engine::cpu {
namespace {

template <typename T>
void fill(const at::Tensor& weight_IO, const QuantizedTensors& tensors, const at::Tensor& scales_GO,
          const at::Tensor& zeros_GO) {
  const int64_t outputs = weight_IO.size(1);
  const uint32_t* words = words_of(tensors.words_WO);
  const auto* groups = tensors.group_of_I.const_data_ptr<int32_t>();
  const auto* scales = scales_GO.const_data_ptr<float>();
  const auto* zeros = zeros_GO.const_data_ptr<float>();
  T* weight = weight_IO.mutable_data_ptr<T>();
  parallel_rows(weight_IO.size(0), outputs, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* scale = scales + groups[i] * outputs;
      const float* zero = zeros + groups[i] * outputs;
      T* row = weight + i * outputs;
      for_each_value(words, i, tensors.bits, outputs, [&](int64_t o, uint32_t value) {
        row[o] = static_cast<T>(scale[o] * (static_cast<float>(static_cast<int32_t>(value)) - zero[o]));
      });
    }
  });
}

}  // namespace

at::Tensor dequantize(const QuantizedTensors& tensors, at::ScalarType dtype) {
  const at::Tensor scales_GO = tensors.scales_GO.to(at::kFloat);
  const at::Tensor zeros_GO = tensors.zeros_GO.to(at::kFloat);
  at::Tensor weight_IO = at::empty({tensors.group_of_I.size(0), scales_GO.size(1)}, scales_GO.options().dtype(dtype));
  if (weight_IO.is_meta()) {
    return weight_IO;
  }
  switch (dtype) {
    case at::kHalf:
      fill<at::Half>(weight_IO, tensors, scales_GO, zeros_GO);
      break;
    case at::kBFloat16:
      fill<at::BFloat16>(weight_IO, tensors, scales_GO, zeros_GO);
      break;
    default:
      fill<float>(weight_IO, tensors, scales_GO, zeros_GO);
  }
  return weight_IO;
}

}  // namespace assay::engine::cpu
