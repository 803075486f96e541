#include "engine/kernels/products.h"

#include "engine/kernels/op_table.h"

namespace assay::engine {

at::Tensor product_nt(const at::Tensor& x_MI, const at::Tensor& weight_OI, const at::Tensor& bias_O) {
  return operations(x_MI).product(x_MI, weight_OI.t(), bias_O);
}

at::Tensor product_nn(const at::Tensor& y_MO, const at::Tensor& weight_OI) {
  return operations(y_MO).product(y_MO, weight_OI, {});
}

at::Tensor product_tn(const at::Tensor& y_MO, const at::Tensor& x_MI) {
  return operations(y_MO).product(y_MO.t(), x_MI, {});
}

at::Tensor add_product_tn(const at::Tensor& sum_OI, const at::Tensor& y_MO, const at::Tensor& x_MI) {
  if (!sum_OI.defined()) {
    return product_tn(y_MO, x_MI);
  }
  operations(y_MO).add_product(sum_OI, y_MO.t(), x_MI);
  return sum_OI;
}

at::Tensor column_sums(const at::Tensor& y_MO, at::ScalarType dtype) {
  return operations(y_MO).column_sums(y_MO, dtype);
}

}  // namespace assay::engine
