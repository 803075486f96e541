#include "engine/kernels/quantized_weight.h"

#include <ATen/core/grad_mode.h>

#include <utility>
#include <vector>

#include "engine/kernels/cpu/parallel.h"
#include "engine/kernels/op_table.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

at::Tensor group_numbers(int64_t inputs, int64_t group_size, at::Device device) {
  at::Tensor groups_I = at::empty({inputs}, at::TensorOptions(at::kInt).device(device));
  if (!device.is_meta()) {
    groups_I.copy_(at::arange(inputs, at::kInt).div_(group_size, "floor"));
  }
  return groups_I;
}

/// The largest magnitude of each group: float32 [G, O].
at::Tensor largest_of_groups(const at::Tensor& weight_IO, int64_t group_size) {
  std::vector<at::Tensor> largest;
  for (const at::Tensor& group : weight_IO.split(group_size)) {
    largest.push_back(group.abs().amax({0}));
  }
  return at::stack(largest);
}

}  // namespace

at::Tensor pack_values(const at::Tensor& values_NM, int64_t bits) {
  const int64_t count = values_NM.size(0);
  const int64_t columns = values_NM.size(1);
  const at::Tensor words = at::zeros({count * bits / kWordBits, columns}, values_NM.options().dtype(at::kInt));
  if (words.is_meta()) {
    return words;
  }
  const auto* values = values_NM.const_data_ptr<uint8_t>();
  auto* out = reinterpret_cast<uint32_t*>(words.mutable_data_ptr<int32_t>());
  cpu::parallel_rows(words.size(0), columns * kWordBits / bits, [&](int64_t begin, int64_t end) {
    for (int64_t w = begin; w < end; ++w) {
      const int64_t first = w * kWordBits / bits;
      const int64_t last = ((w + 1) * kWordBits + bits - 1) / bits;
      for (int64_t i = first; i < last; ++i) {
        const auto shift = static_cast<int>(i * bits - w * kWordBits);  // below 0: it begins in the word before
        for (int64_t c = 0; c < columns; ++c) {
          const uint32_t value = values[i * columns + c];
          out[w * columns + c] |= shift >= 0 ? value << shift : value >> -shift;
        }
      }
    }
  });
  return words;
}

at::Tensor unpack_values(const at::Tensor& words_WM, int64_t bits) {
  const int64_t columns = words_WM.size(1);
  const at::Tensor values =
      at::empty({words_WM.size(0) * kWordBits / bits, columns}, words_WM.options().dtype(at::kByte));
  if (values.is_meta()) {
    return values;
  }
  auto* out = values.mutable_data_ptr<uint8_t>();
  for (int64_t i = 0; i < values.size(0); ++i) {
    for_each_value(words_of(words_WM), i, bits, columns,
                   [&](int64_t c, uint32_t value) { out[i * columns + c] = static_cast<uint8_t>(value); });
  }
  return values;
}

QuantizedTensors round_to_nearest(const at::Tensor& weight_OI, int64_t bits, int64_t group_size) {
  const int64_t outputs = weight_OI.size(0);
  const int64_t inputs = weight_OI.size(1);
  TORCH_CHECK(fills_words(inputs), "a weight with ", inputs, " inputs cannot be quantised: they fill no words");
  const int64_t of_group = group_size < 0 ? inputs : std::min(group_size, inputs);
  const auto options = at::TensorOptions().device(weight_OI.device());
  const int64_t groups = (inputs + of_group - 1) / of_group;
  const int64_t middle = int64_t{1} << (bits - 1);
  QuantizedTensors result{.words_WO = {},
                          .scales_GO = at::empty({groups, outputs}, options.dtype(at::kHalf)),
                          .zeros_GO = at::full({groups, outputs}, middle, options.dtype(at::kByte)),
                          .group_of_I = group_numbers(inputs, of_group, weight_OI.device()),
                          .bits = bits};
  const auto wide = options.dtype(at::kFloat);
  const at::Tensor values_IO = at::empty({inputs, outputs}, wide);
  if (weight_OI.is_meta()) {  // what follows takes this
    const at::Tensor scales_IO = at::empty({inputs, outputs}, wide);
    const at::Tensor rounded_IO = at::empty({inputs, outputs}, options.dtype(at::kByte));
    result.words_WO = pack_values(rounded_IO, bits);
    return result;
  }
  values_IO.copy_(weight_OI.detach().t());
  const auto most = static_cast<double>((int64_t{1} << bits) - 1);
  result.scales_GO.copy_(largest_of_groups(values_IO, of_group) * (2.0 / most));
  result.scales_GO.masked_fill_(result.scales_GO == 0, 1.0);
  const at::Tensor scales_IO = result.scales_GO.to(at::kFloat).index_select(0, result.group_of_I);
  values_IO.div_(scales_IO).round_().add_(middle).clamp_(0, most);
  result.words_WO = pack_values(values_IO.to(at::kByte).cpu(), bits).to(weight_OI.device());
  return result;
}

QuantizedWeight::QuantizedWeight(QuantizedTensors tensors, at::ScalarType dtype)
    : tensors_(std::move(tensors)), dtype_(dtype) {}

at::Tensor QuantizedWeight::dequantized() const {
  return operations(tensors_.words_WO.device(), dtype_).dequantize(tensors_, dtype_).t();
}

at::Tensor QuantizedWeight::product_nt(const at::Tensor& x_MI, const at::Tensor& bias_O) {
  const at::NoGradGuard no_grad;
  return engine::product_nt(x_MI, dequantized(), bias_O);
}

at::Tensor QuantizedWeight::product_nn(const at::Tensor& y_MO) {
  const at::NoGradGuard no_grad;
  return engine::product_nn(y_MO, dequantized());
}

}  // namespace assay::engine
