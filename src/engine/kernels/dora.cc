#include "engine/kernels/dora.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>

#include "engine/kernels/low_rank.h"

namespace assay::engine {
namespace {

/// The lengths of the rows of W + scale * B A, which is never made: its rows' squares are those of W, twice the
/// products of the rows of both, and those of the update.
at::Tensor row_lengths(const at::Tensor& weight_OI, const LoraTensors& lora, const DoraTensors& dora) {
  const at::NoGradGuard no_grad;
  const at::Tensor along_Or = project_down({weight_OI.contiguous(), {}}, lora.a_rI, 1.0);
  const at::Tensor own_Or = at::matmul(lora.b_Or, at::matmul(lora.a_rI, lora.a_rI.t()));
  const at::Tensor added_O = ((along_Or * (2 * lora.scale) + own_Or * (lora.scale * lora.scale)) * lora.b_Or).sum(1);
  return (dora.row_squares_O + added_O).clamp_min_(0).sqrt_();
}

}  // namespace

at::Tensor row_squares(const at::Tensor& weight_OI) {
  const at::NoGradGuard no_grad;
  return at::linalg_vector_norm(weight_OI, 2, 1, /*keepdim=*/false, at::kFloat).square_();
}

at::Tensor dora_linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const std::optional<at::Tensor>& bias_O,
                       const LoraTensors& lora, const DoraTensors& dora, const RecomputePtr& again,
                       const FrozenWeightPtr& frozen) {
  const at::Tensor factors_O = dora.magnitude_O / row_lengths(weight_OI, lora, dora);
  if (!lora.drops) {
    const at::Tensor y_TO =
        lora_linear(x_TI, weight_OI, std::nullopt, lora, again, Output::kComputed, frozen) * factors_O;
    return (bias_O ? y_TO + *bias_O : y_TO).to(x_TI.scalar_type());
  }
  const at::Tensor mask_TI = dropout_mask(*lora.drops).to(x_TI.scalar_type()).div_(1 - lora.drops->chance);
  const at::Tensor dropped_TI = x_TI * mask_TI;
  const at::Tensor plain_TO = linear(x_TI, weight_OI, bias_O, again, Output::kComputed, frozen);
  const at::Tensor base_TO = linear(dropped_TI, weight_OI, std::nullopt, {}, Output::kComputed, frozen);
  const at::Tensor low_Tr = at::matmul(dropped_TI.to(lora.a_rI.scalar_type()), lora.a_rI.t());
  const at::Tensor update_TO = at::matmul(low_Tr, lora.b_Or.t()) * lora.scale;
  return (plain_TO + base_TO * (factors_O - 1) + update_TO * factors_O).to(x_TI.scalar_type());
}

}  // namespace assay::engine
