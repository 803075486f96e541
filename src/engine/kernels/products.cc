#include "engine/kernels/products.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ceilings.h"

namespace assay::engine {
namespace {

/// Output columns that are converted and multiplied at a time when products go through float32.
constexpr int64_t kColumnsThroughFloat32 = 4096;

bool needs_float32(const at::Tensor& x) {
  return x.device().is_cpu() && products_through_float32(x.scalar_type());
}

/// out = left right, 16-bit, by float32 products over stretches of columns: `left` is widened as a whole, `right` and
/// the result a stretch at a time.
void product_through_float32(const at::Tensor& left, const at::Tensor& right, const at::Tensor& out) {
  const at::Tensor wide_left = left.to(at::kFloat);
  for (int64_t begin = 0; begin < out.size(1); begin += kColumnsThroughFloat32) {
    const int64_t count = std::min(kColumnsThroughFloat32, out.size(1) - begin);
    const at::Tensor wide_right = right.narrow(1, begin, count).to(at::kFloat);
    out.narrow(1, begin, count).copy_(at::mm(wide_left, wide_right));
  }
}

at::Tensor product(const at::Tensor& left, const at::Tensor& right) {
  if (!needs_float32(left)) {
    return at::mm(left, right);
  }
  at::Tensor out = at::empty({left.size(0), right.size(1)}, left.options());
  product_through_float32(left, right, out);
  return out;
}

/// Float32 sums over every kRowsPerPartial rows, at least one: [partials, O].
at::Tensor partial_column_sums(const TypedKernels& kernels, const at::Tensor& y_MO) {
  const int64_t rows = y_MO.size(0);
  const int64_t width = y_MO.size(1);
  const int64_t partials = std::max<int64_t>(1, (rows + kRowsPerPartial - 1) / kRowsPerPartial);
  at::Tensor sums_PO = at::zeros({partials, width}, y_MO.options().dtype(at::kFloat));
  auto* sums = sums_PO.mutable_data_ptr<float>();
  parallel_rows(partials, width * kRowsPerPartial, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      kernels.column_sums(y_MO.const_data_ptr(), width, sums + p * width, p * kRowsPerPartial,
                          std::min(rows, (p + 1) * kRowsPerPartial));
    }
  });
  return sums_PO;
}

}  // namespace

/// libtorch has no fast product for float16 without AVX512_FP16 and for bfloat16 without AVX-512: it falls back to
/// loops that are 10 to 100 times slower than float32.
bool products_through_float32(c10::ScalarType dtype) {
  if (dtype == at::kHalf) {
    return !has_fast_float16_matmul();
  }
  return dtype == at::kBFloat16 && !has_fast_bfloat16_matmul();
}

int64_t float32_copy_bytes(int64_t tokens, int64_t inputs, int64_t outputs) {
  const auto elements = [](int64_t rows, int64_t inner, int64_t columns) {
    return rows * inner + std::min(columns, kColumnsThroughFloat32) * (inner + rows);
  };
  // The gradient of the weight takes as much as that of the input: three matrices of the same sizes.
  const int64_t most = std::max(elements(tokens, inputs, outputs), elements(tokens, outputs, inputs));
  return most * static_cast<int64_t>(sizeof(float));
}

at::Tensor product_nt(const at::Tensor& x_MI, const at::Tensor& weight_OI, const at::Tensor& bias_O) {
  if (!bias_O.defined()) {
    return product(x_MI, weight_OI.t());
  }
  return needs_float32(x_MI) ? product(x_MI, weight_OI.t()).add_(bias_O) : at::addmm(bias_O, x_MI, weight_OI.t());
}

at::Tensor product_nn(const at::Tensor& y_MO, const at::Tensor& weight_OI) {
  return product(y_MO, weight_OI);
}

at::Tensor product_tn(const at::Tensor& y_MO, const at::Tensor& x_MI) {
  return product(y_MO.t(), x_MI);
}

at::Tensor add_product_tn(const at::Tensor& sum_OI, const at::Tensor& y_MO, const at::Tensor& x_MI) {
  if (!sum_OI.defined()) {
    return product_tn(y_MO, x_MI);
  }
  return needs_float32(y_MO) ? sum_OI.add_(product_tn(y_MO, x_MI)) : sum_OI.addmm_(y_MO.t(), x_MI);
}

at::Tensor column_sums(const at::Tensor& y_MO, at::ScalarType dtype) {
  const TypedKernels* kernels = kernels_for(y_MO);
  if (kernels == nullptr) {
    return y_MO.sum(0, /*keepdim=*/false, compute_dtype(y_MO)).to(dtype);
  }
  at::Tensor sums_PO = partial_column_sums(*kernels, y_MO.contiguous());
  while (sums_PO.size(0) > 1) {
    sums_PO = partial_column_sums(*kernels_for(sums_PO), sums_PO);
  }
  return sums_PO.squeeze(0).to(dtype);
}

}  // namespace assay::engine
