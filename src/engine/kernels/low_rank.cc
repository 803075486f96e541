#include "engine/kernels/low_rank.h"

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/split_low_rank.h"

namespace assay::engine {
namespace {

/// Columns that one task of outer_sum works on: a few cache lines of each row.
constexpr int64_t kColumns = 64;

at::Tensor dropped(const Dropped& x, at::ScalarType dtype) {
  const at::Tensor wide = x.data_TI.to(dtype);
  return x.mask_TI.defined() ? wide * x.mask_TI * x.keep_scale : wide;
}

TallMatrix tall(const Dropped& x) {
  return {.data = x.data_TI.const_data_ptr(),
          .mask = static_cast<const uint8_t*>(data_or_null(x.mask_TI)),
          .width = x.data_TI.size(1),
          .keep_scale = static_cast<float>(x.keep_scale)};
}

/// Our kernels hold the thin side in float32.
const TypedKernels* thin_kernels(const at::Tensor& x, const at::Tensor& thin) {
  return thin.scalar_type() == at::kFloat ? kernels_for(x) : nullptr;
}

}  // namespace

at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale) {
  if (cuda::splits(x.data_TI, a_rI)) {
    return cuda::split_project_down(*cuda::ops_for(x.data_TI), x, a_rI, scale);
  }
  const TypedKernels* kernels = thin_kernels(x.data_TI, a_rI);
  if (kernels == nullptr) {
    return at::mm(dropped(x, a_rI.scalar_type()), a_rI.t()).mul_(scale);
  }
  const int64_t tokens = x.data_TI.size(0);
  const int64_t rank = a_rI.size(0);
  at::Tensor low_Tr = at::empty({tokens, rank}, a_rI.options());
  parallel_rows(tokens, x.data_TI.size(1), [&](int64_t begin, int64_t end) {
    kernels->project_down(tall(x), a_rI.const_data_ptr<float>(), rank, static_cast<float>(scale),
                          low_Tr.mutable_data_ptr<float>(), begin, end);
  });
  return low_Tr;
}

void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y) {
  if (cuda::splits(y.data_TI, a_rI)) {
    cuda::split_project_up(*cuda::ops_for(y.data_TI), low_Tr, a_rI, scale, y);
    return;
  }
  const TypedKernels* kernels = thin_kernels(y.data_TI, a_rI);
  if (kernels == nullptr) {
    y.data_TI.add_(dropped({at::mm(low_Tr, a_rI).mul_(scale), y.mask_TI, y.keep_scale}, a_rI.scalar_type()));
    return;
  }
  parallel_rows(y.data_TI.size(0), y.data_TI.size(1), [&](int64_t begin, int64_t end) {
    kernels->project_up(low_Tr.const_data_ptr<float>(), a_rI.const_data_ptr<float>(), a_rI.size(0),
                        static_cast<float>(scale), tall(y), begin, end);
  });
}

at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale) {
  if (cuda::splits(x.data_TI, low_Tr)) {
    return cuda::split_outer_sum(*cuda::ops_for(x.data_TI), low_Tr, x, scale);
  }
  const TypedKernels* kernels = thin_kernels(x.data_TI, low_Tr);
  if (kernels == nullptr) {
    return at::mm(low_Tr.t(), dropped(x, low_Tr.scalar_type())).mul_(scale);
  }
  const int64_t width = x.data_TI.size(1);
  const int64_t rank = low_Tr.size(1);
  at::Tensor out_rI = at::empty({rank, width}, low_Tr.options());
  at::parallel_for(0, (width + kColumns - 1) / kColumns, 1, [&](int64_t begin, int64_t end) {
    kernels->outer_sum(low_Tr.const_data_ptr<float>(), tall(x), x.data_TI.size(0), rank, static_cast<float>(scale),
                       out_rI.mutable_data_ptr<float>(), begin * kColumns, std::min(width, end * kColumns));
  });
  return out_rI;
}

}  // namespace assay::engine
