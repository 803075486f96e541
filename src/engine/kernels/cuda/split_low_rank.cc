// The thin products of a float32 low-rank update beside bfloat16 activations, on tensor cores.
//
// A bfloat16 holds 8 bits of a float32's 24, so a float32 matrix is the sum of three bfloat16 ones. A product of a
// bfloat16 matrix with those three side by side, summed in float32, is as exact as one in float32, and nothing is
// widened but the thin side (Ootomo & Yokota 2022, "Recovering single precision accuracy from Tensor Cores").
#include <ATen/ATen.h>

#include "engine/kernels/cuda/ops.h"

namespace assay::engine::cuda {
namespace {

bool splits(const Dropped& x) {
  return x.data_TI.scalar_type() == at::kBFloat16;
}

constexpr int64_t kPieces = 3;
/// All of a value.
constexpr std::array<int, 3> kWhole = {0, 1, 2};
/// Side by side with kRight these make the three largest terms of (l0 + l1 + l2) (r0 + r1 + r2).
constexpr std::array<int, 3> kLeft = {0, 0, 1};
constexpr std::array<int, 3> kRight = {0, 1, 0};

/// The product of bfloat16 matrices summed and left in float32. Only the GPU has that as one operation.
at::Tensor wide_product(const at::Tensor& left, const at::Tensor& right) {
  return left.is_cuda() ? at::mm(left, right, at::kFloat) : at::mm(left.to(at::kFloat), right.to(at::kFloat));
}

/// x with zeros where the mask drops it; the factor of the rest is left to the caller, so that nothing is rounded.
at::Tensor kept(const Dropped& x) {
  return x.mask_TI.defined() ? x.data_TI * x.mask_TI : x.data_TI;
}

double keep_scale(const Dropped& x) {
  return x.mask_TI.defined() ? x.keep_scale : 1.0;
}

}  // namespace

at::Tensor project_down(const Dropped& x, const at::Tensor& a_rI, double scale) {
  if (!splits(x)) {
    return reference::project_down(x, a_rI, scale);
  }
  const at::Tensor pieces = split(a_rI, kWhole, /*side_by_side=*/false);
  const at::Tensor products = wide_product(kept(x), pieces.t()).view({-1, kPieces, a_rI.size(0)});
  return products.sum(1).mul_(scale * keep_scale(x));
}

void project_up(const at::Tensor& low_Tr, const at::Tensor& a_rI, double scale, const Dropped& y) {
  if (!splits(y)) {
    reference::project_up(low_Tr, a_rI, scale, y);
    return;
  }
  const at::Tensor left = split(low_Tr, kLeft, /*side_by_side=*/true);
  const at::Tensor right = split(a_rI, kRight, /*side_by_side=*/false);
  if (y.mask_TI.defined()) {
    add_masked(y.data_TI, wide_product(left, right), y.mask_TI, scale * y.keep_scale);
  } else {
    y.data_TI.addmm_(left, right, /*beta=*/1, /*alpha=*/scale);
  }
}

at::Tensor outer_sum(const at::Tensor& low_Tr, const Dropped& x, double scale) {
  if (!splits(x)) {
    return reference::outer_sum(low_Tr, x, scale);
  }
  const at::Tensor pieces = split(low_Tr, kWhole, /*side_by_side=*/true);
  const at::Tensor products = wide_product(pieces.t(), kept(x)).view({kPieces, low_Tr.size(1), -1});
  return products.sum(0).mul_(scale * keep_scale(x));
}

}  // namespace assay::engine::cuda
