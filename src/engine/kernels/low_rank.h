// The thin products of a low-rank update. Private to engine/kernels.
#pragma once

#include <ATen/core/Tensor.h>

namespace assay::engine {

/// A tall matrix, and optionally the dropout mask over it (bytes; kept elements are multiplied by keep_scale).
struct Dropped {
  at::Tensor data_TI;
  at::Tensor mask_TI;
  double keep_scale = 1.0;
};

/// scale * dropped(x) a^T, in the dtype of `a`: [T, I] x [r, I] -> [T, r].
at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale);

/// y += dropped(scale * low a), rounded once: [T, r] x [r, I] added to [T, I].
void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y);

/// scale * low^T dropped(x), in the dtype of `low`: [T, r] x [T, I] -> [r, I].
at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale);

}  // namespace assay::engine
