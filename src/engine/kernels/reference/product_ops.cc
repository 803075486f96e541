#include "engine/kernels/reference/ops.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::reference {
namespace {

at::Tensor dropped(const Dropped& x, at::ScalarType dtype) {
  const at::Tensor wide = x.data_TI.to(dtype);
  return x.mask_TI.defined() ? wide * x.mask_TI * x.keep_scale : wide;
}

}  // namespace

at::Tensor product(const at::Tensor& left, const at::Tensor& right, const at::Tensor& bias) {
  return bias.defined() ? at::addmm(bias, left, right) : at::mm(left, right);
}

void add_product(const at::Tensor& sum, const at::Tensor& left, const at::Tensor& right) {
  sum.addmm_(left, right);
}

at::Tensor column_sums(const at::Tensor& y_MO, at::ScalarType dtype) {
  return y_MO.sum(0, /*keepdim=*/false, compute_dtype(y_MO)).to(dtype);
}

at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale) {
  return at::mm(dropped(x, a_rI.scalar_type()), a_rI.t()).mul_(scale);
}

void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y) {
  y.data_TI.add_(dropped({at::mm(low_Tr, a_rI).mul_(scale), y.mask_TI, y.keep_scale}, a_rI.scalar_type()));
}

at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale) {
  return at::mm(low_Tr.t(), dropped(x, low_Tr.scalar_type())).mul_(scale);
}

}  // namespace assay::engine::reference
