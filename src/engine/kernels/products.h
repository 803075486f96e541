// Matrix products in the form that is fast on the device at hand. Private to engine/kernels.
#pragma once

#include <ATen/core/Tensor.h>

namespace assay::engine {

/// x W^T, plus the bias when it is defined: [M, I] x [O, I] -> [M, O].
at::Tensor product_nt(const at::Tensor& x_MI, const at::Tensor& weight_OI, const at::Tensor& bias_O = {});

/// y W: [M, O] x [O, I] -> [M, I].
at::Tensor product_nn(const at::Tensor& y_MO, const at::Tensor& weight_OI);

/// y^T x: [M, O] x [M, I] -> [O, I].
at::Tensor product_tn(const at::Tensor& y_MO, const at::Tensor& x_MI);

/// sum += y^T x, rounded to the dtype of `sum` once; an undefined `sum` starts at zero. Returns the new sum.
at::Tensor add_product_tn(const at::Tensor& sum_OI, const at::Tensor& y_MO, const at::Tensor& x_MI);

/// Column sums in float32, rounded to `dtype`: the gradient of a bias.
at::Tensor column_sums(const at::Tensor& y_MO, at::ScalarType dtype);

}  // namespace assay::engine
