#include "engine/model/recomputable.h"

#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

RecomputePtr norm_again(const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
  return c10::make_intrusive<Recompute>(
      [x = x_TH.detach(), weight = weight_H.detach(), eps] { return rms_norm(x, weight, eps); });
}

}  // namespace

NormedSum normed_sum(const at::Tensor& residual_TH, const at::Tensor& block_TH, const at::Tensor& weight_H, double eps,
                     double multiplier) {
  if (!block_TH.defined()) {
    return {residual_TH, {rms_norm(residual_TH, weight_H, eps), norm_again(residual_TH, weight_H, eps)}};
  }
  auto [sum_TH, normed_TH] = add_rms_norm(residual_TH, block_TH, weight_H, eps, multiplier);
  RecomputePtr again = norm_again(sum_TH, weight_H, eps);
  return {std::move(sum_TH), {std::move(normed_TH), std::move(again)}};
}

Recomputable recomputable_swiglu(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return {swiglu(gate_TI, up_TI),
          c10::make_intrusive<Recompute>([gate = gate_TI.detach(), up = up_TI.detach()] { return swiglu(gate, up); })};
}

}  // namespace assay::engine
