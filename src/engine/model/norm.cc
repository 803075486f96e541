#include "engine/model/norm.h"

#include <c10/util/Exception.h>

#include <utility>

#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

at::Tensor norm_of(const at::Tensor& x_TH, const at::Tensor& weight_H, const at::Tensor& bias_H, double eps) {
  return bias_H.defined() ? layer_norm(x_TH, weight_H, bias_H, eps) : rms_norm(x_TH, weight_H, eps);
}

RecomputePtr norm_again(const at::Tensor& x_TH, const Norm& norm, double eps) {
  return c10::make_intrusive<Recompute>([x = x_TH.detach(), weight = norm.weight_H.detach(),
                                         bias = norm.bias_H.defined() ? norm.bias_H.detach() : at::Tensor(),
                                         eps] { return norm_of(x, weight, bias, eps); });
}

}  // namespace

NormedSum normed_sum(const at::Tensor& residual_TH, const at::Tensor& block_TH, const Norm& norm, double eps,
                     double multiplier) {
  if (!block_TH.defined()) {
    return {residual_TH, {norm_of(residual_TH, norm.weight_H, norm.bias_H, eps), norm_again(residual_TH, norm, eps)}};
  }
  TORCH_CHECK(multiplier == 1.0 || !norm.bias_H.defined(), "no layer norm takes a residual multiplier");
  auto [sum_TH, normed_TH] = norm.bias_H.defined()
                                 ? add_layer_norm(residual_TH, block_TH, norm.weight_H, norm.bias_H, eps)
                                 : add_rms_norm(residual_TH, block_TH, norm.weight_H, eps, multiplier);
  RecomputePtr again = norm_again(sum_TH, norm, eps);
  return {std::move(sum_TH), {std::move(normed_TH), std::move(again)}};
}

}  // namespace assay::engine
