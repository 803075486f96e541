#include "engine/kernels/ceilings.h"
#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/parallel.h"

namespace assay::engine {
namespace {

/// Output columns that are converted and multiplied at a time when products go through float32.
constexpr int64_t kColumnsThroughFloat32 = 4096;

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

namespace cpu {
namespace {

/// Columns that one task of outer_sum works on: a few cache lines of each row.
constexpr int64_t kColumns = 64;

/// left right, 16-bit, by float32 products over stretches of columns: `left` is widened as a whole, `right` and the
/// result a stretch at a time.
at::Tensor product_through_float32(const at::Tensor& left, const at::Tensor& right) {
  at::Tensor out = at::empty({left.size(0), right.size(1)}, left.options());
  const at::Tensor wide_left = left.to(at::kFloat);
  for (int64_t begin = 0; begin < out.size(1); begin += kColumnsThroughFloat32) {
    const int64_t count = std::min(kColumnsThroughFloat32, out.size(1) - begin);
    const at::Tensor wide_right = right.narrow(1, begin, count).to(at::kFloat);
    out.narrow(1, begin, count).copy_(at::mm(wide_left, wide_right));
  }
  return out;
}

/// About what oneDNN's product of float16 takes for each thread beside its operands, whose blocks it copies; that of
/// bfloat16 takes a tenth of it.
constexpr int64_t kFloat16ScratchBytes = int64_t{1} << 20;

/// The same for a product of shapes, which no oneDNN makes: to be held until its result is there.
at::Tensor scratch_of_shapes(const at::Tensor& x) {
  return x.is_meta() && x.scalar_type() == at::kHalf
             ? at::empty({at::get_num_threads() * kFloat16ScratchBytes}, x.options().dtype(at::kByte))
             : at::Tensor();
}

/// Float32 sums over every kRowsPerPartial rows, at least one: [partials, O].
at::Tensor partial_column_sums(const at::Tensor& y_MO) {
  const int64_t rows = y_MO.size(0);
  const int64_t width = y_MO.size(1);
  const int64_t partials = std::max<int64_t>(1, partials_of(rows));
  at::Tensor sums_PO = at::zeros({partials, width}, y_MO.options().dtype(at::kFloat));
  auto* sums = sums_PO.mutable_data_ptr<float>();
  const TypedKernels& loops = loops_for(y_MO);
  parallel_rows(partials, width * kRowsPerPartial, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      loops.column_sums(y_MO.const_data_ptr(), width, sums + p * width, p * kRowsPerPartial,
                        std::min(rows, (p + 1) * kRowsPerPartial));
    }
  });
  return sums_PO;
}

TallMatrix tall(const Dropped& x) {
  return {.data = x.data_TI.const_data_ptr(),
          .mask = static_cast<const uint8_t*>(data_or_null(x.mask_TI)),
          .width = x.data_TI.size(1),
          .keep_scale = static_cast<float>(x.keep_scale)};
}

}  // namespace

at::Tensor product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias) {
  if (!products_through_float32(left.scalar_type())) {
    const at::Tensor scratch = scratch_of_shapes(left);
    return reference::product(left, right, bias);
  }
  at::Tensor out = product_through_float32(left, right);
  return bias.defined() ? out.add_(bias) : out;
}

void add_product(const at::Tensor& sum, const at::Tensor& left, const at::Tensor& right) {
  if (products_through_float32(left.scalar_type())) {
    sum.add_(product_through_float32(left, right));
  } else {
    const at::Tensor scratch = scratch_of_shapes(left);
    reference::add_product(sum, left, right);
  }
}

at::Tensor column_sums(const at::Tensor& y_MO, at::ScalarType dtype) {
  at::Tensor sums_PO = partial_column_sums(y_MO.contiguous());
  while (sums_PO.size(0) > 1) {
    sums_PO = partial_column_sums(sums_PO);
  }
  return sums_PO.squeeze(0).to(dtype);
}

at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale) {
  const int64_t tokens = x.data_TI.size(0);
  const int64_t rank = a_rI.size(0);
  at::Tensor low_Tr = at::empty({tokens, rank}, a_rI.options());
  const TypedKernels& loops = loops_for(x.data_TI);
  parallel_rows(tokens, x.data_TI.size(1), [&](int64_t begin, int64_t end) {
    loops.project_down(tall(x), a_rI.const_data_ptr<float>(), rank, static_cast<float>(scale),
                       low_Tr.mutable_data_ptr<float>(), begin, end);
  });
  return low_Tr;
}

void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y) {
  const TypedKernels& loops = loops_for(y.data_TI);
  parallel_rows(y.data_TI.size(0), y.data_TI.size(1), [&](int64_t begin, int64_t end) {
    loops.project_up(low_Tr.const_data_ptr<float>(), a_rI.const_data_ptr<float>(), a_rI.size(0),
                     static_cast<float>(scale), tall(y), begin, end);
  });
}

at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale) {
  const int64_t width = x.data_TI.size(1);
  const int64_t rank = low_Tr.size(1);
  at::Tensor out_rI = at::empty({rank, width}, low_Tr.options());
  const TypedKernels& loops = loops_for(x.data_TI);
  at::parallel_for(0, (width + kColumns - 1) / kColumns, 1, [&](int64_t begin, int64_t end) {
    loops.outer_sum(low_Tr.const_data_ptr<float>(), tall(x), x.data_TI.size(0), rank, static_cast<float>(scale),
                    out_rI.mutable_data_ptr<float>(), begin * kColumns, std::min(width, end * kColumns));
  });
  return out_rI;
}

}  // namespace cpu
}  // namespace assay::engine
