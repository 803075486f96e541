#include "engine/kernels/cuda/ops.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "engine/kernels/cuda/launch_support.h"
#include "engine/kernels/tensor_support.h"

namespace assay::engine::cuda {
namespace {

/// Blocks that sum the gradient of a norm's weight: enough to fill any GPU twice. Fixed, so that sums do not depend on
/// the device.
constexpr int64_t kNormParts = 512;

}  // namespace

RmsNormOutputs rms_norm_forward(const RmsNormInputs& in) {
  RmsNormOutputs out;
  const int64_t width = in.x_TH.size(-1);
  const int64_t rows = rows_of(in.x_TH);
  out.x_TH = in.block_TH.defined() ? at::empty_like(in.x_TH) : in.x_TH;
  out.y_TH = at::empty_like(in.x_TH);
  out.inverse_rms_T = at::empty({rows}, in.x_TH.options().dtype(at::kFloat));
  launch_on(in.x_TH, NormForward{.x = in.x_TH.const_data_ptr(),
                                 .block = data_or_null(in.block_TH),
                                 .weight = in.weight_H.const_data_ptr(),
                                 .sum = in.block_TH.defined() ? out.x_TH.mutable_data_ptr() : nullptr,
                                 .y = out.y_TH.mutable_data_ptr(),
                                 .inverse_rms = out.inverse_rms_T.mutable_data_ptr<float>(),
                                 .rows = rows,
                                 .width = width,
                                 .eps = static_cast<float>(in.eps),
                                 .multiplier = static_cast<float>(in.multiplier)});
  return out;
}

RmsNormGradients rms_norm_backward(const RmsNormSaved& in) {
  RmsNormGradients result;
  const int64_t width = in.x_TH.size(-1);
  const int64_t rows = in.inverse_rms_T.size(0);
  const bool one_gradient = in.multiplier == 1.0;
  result.x_TH = at::empty_like(in.x_TH);
  result.block_TH = one_gradient ? result.x_TH : at::empty_like(in.x_TH);
  const int64_t parts = std::min(rows, kNormParts);
  at::Tensor part_PH;
  if (in.want_weight) {
    part_PH = at::empty({parts, width}, in.inverse_rms_T.options());
  }
  launch_on(in.x_TH, NormBackward{.grad_y = in.grad_y_TH.const_data_ptr(),
                                  .extra = data_or_null(in.extra_TH),
                                  .x = in.x_TH.const_data_ptr(),
                                  .weight = in.weight_H.const_data_ptr(),
                                  .inverse_rms = in.inverse_rms_T.const_data_ptr<float>(),
                                  .grad_x = result.x_TH.mutable_data_ptr(),
                                  .grad_block = one_gradient ? nullptr : result.block_TH.mutable_data_ptr(),
                                  .grad_weight = static_cast<float*>(mutable_data_or_null(part_PH)),
                                  .parts = parts,
                                  .rows = rows,
                                  .width = width,
                                  .multiplier = static_cast<float>(in.multiplier)});
  if (in.want_weight) {
    result.weight_H = part_PH.sum(0).to(in.weight_H.scalar_type());
  }
  return result;
}

at::Tensor swiglu_forward(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  at::Tensor y_TI = at::empty_like(gate_TI);
  launch_on(gate_TI, SwigluForward{.gate = gate_TI.const_data_ptr(),
                                   .up = up_TI.const_data_ptr(),
                                   .y = y_TI.mutable_data_ptr(),
                                   .count = gate_TI.numel()});
  return y_TI;
}

SwigluGradients swiglu_backward(const at::Tensor& grad_TI, const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  const SwigluGradients result{at::empty_like(gate_TI), at::empty_like(up_TI)};
  launch_on(gate_TI, SwigluBackward{.grad_y = grad_TI.const_data_ptr(),
                                    .gate = gate_TI.const_data_ptr(),
                                    .up = up_TI.const_data_ptr(),
                                    .grad_gate = result.gate_TI.mutable_data_ptr(),
                                    .grad_up = result.up_TI.mutable_data_ptr(),
                                    .count = gate_TI.numel()});
  return result;
}

at::Tensor add_scaled(const at::Tensor& a, const at::Tensor& b, double multiplier) {
  at::Tensor out = at::empty_like(a);
  launch_on(a, AddScaled{.a = a.const_data_ptr(),
                         .b = b.const_data_ptr(),
                         .out = out.mutable_data_ptr(),
                         .count = a.numel(),
                         .multiplier = static_cast<float>(multiplier)});
  return out;
}

at::Tensor rotate(const at::Tensor& x_TND, const RotaryTable& rotary, const at::Tensor& positions_T, bool inverse) {
  at::Tensor out_TND = at::empty_like(x_TND);
  launch_on(x_TND, Rotate{.x = x_TND.const_data_ptr(),
                          .cosine = rotary.cos_PD2.const_data_ptr<float>(),
                          .sine = rotary.sin_PD2.const_data_ptr<float>(),
                          .positions = positions_T.const_data_ptr<int64_t>(),
                          .out = out_TND.mutable_data_ptr(),
                          .tokens = x_TND.size(0),
                          .heads = static_cast<int>(x_TND.size(1)),
                          .half = static_cast<int>(x_TND.size(2) / 2),
                          .inverse = inverse});
  return out_TND;
}

at::Tensor cross_entropy(at::Tensor& logits_CV, const at::Tensor& targets_C, double divisor, double gradient,
                         double smoothing) {
  at::Tensor losses_C = at::empty({logits_CV.size(0)}, logits_CV.options().dtype(at::kFloat));
  launch_on(logits_CV, CrossEntropy{.logits = logits_CV.mutable_data_ptr(),
                                    .targets = targets_C.const_data_ptr<int64_t>(),
                                    .losses = losses_C.mutable_data_ptr<float>(),
                                    .rows = logits_CV.size(0),
                                    .width = logits_CV.size(1),
                                    .divisor = static_cast<float>(divisor),
                                    .gradient = static_cast<float>(gradient),
                                    .smoothing = static_cast<float>(smoothing)});
  return losses_C.sum();
}

at::Tensor embedding_backward(const at::Tensor& grad_TH, const at::Tensor& ids_T, int64_t rows, double multiplier) {
  const auto [ids, tokens] = at::sort(ids_T, /*stable=*/std::optional(true), /*dim=*/0, /*descending=*/false);
  at::Tensor grad_VH = at::zeros({rows, grad_TH.size(1)}, grad_TH.options());
  launch_on(grad_VH, EmbeddingSums{.ids = ids.const_data_ptr<int64_t>(),
                                   .tokens = tokens.const_data_ptr<int64_t>(),
                                   .rows = grad_TH.const_data_ptr(),
                                   .sums = grad_VH.mutable_data_ptr(),
                                   .count = grad_TH.size(0),
                                   .width = grad_TH.size(1),
                                   .multiplier = static_cast<float>(multiplier)});
  return grad_VH;
}

at::Tensor dropout_mask(const DropoutDraw& draw) {
  at::Tensor mask_TF = at::empty({draw.keys_T.size(0), draw.features}, draw.keys_T.options().dtype(at::kByte));
  on_stream_of(mask_TF, [&](Stream stream) { launch(mask_task(draw, draw.keys_T, mask_TF), stream); });
  return mask_TF;
}

at::Tensor dequantize(const QuantizedTensors& tensors, at::ScalarType dtype) {
  const at::Tensor scales_GO = tensors.scales_GO.to(at::kFloat);
  const at::Tensor zeros_GO = tensors.zeros_GO.to(at::kFloat);
  at::Tensor weight_IO = at::empty({tensors.group_of_I.size(0), scales_GO.size(1)}, scales_GO.options().dtype(dtype));
  launch_on(weight_IO, Dequantize{.words = words_of(tensors.words_WO),
                                  .scales = scales_GO.const_data_ptr<float>(),
                                  .zeros = zeros_GO.const_data_ptr<float>(),
                                  .groups = tensors.group_of_I.const_data_ptr<int32_t>(),
                                  .weight = weight_IO.mutable_data_ptr(),
                                  .inputs = weight_IO.size(0),
                                  .outputs = weight_IO.size(1),
                                  .bits = static_cast<int>(tensors.bits)});
  return weight_IO;
}

at::Tensor split(const at::Tensor& values, std::array<int, 3> pieces, bool side_by_side) {
  const int64_t rows = values.size(0);
  const int64_t columns = values.size(1);
  at::Tensor out = side_by_side ? at::empty({rows, 3 * columns}, values.options().dtype(at::kBFloat16))
                                : at::empty({3 * rows, columns}, values.options().dtype(at::kBFloat16));
  launch_on(out, Split{.values = values.const_data_ptr<float>(),
                       .out = out.mutable_data_ptr(),
                       .rows = rows,
                       .columns = columns,
                       .row_stride = side_by_side ? 3 * columns : columns,
                       .piece_stride = side_by_side ? columns : rows * columns,
                       .pieces = {pieces[0], pieces[1], pieces[2]}});
  return out;
}

void add_masked(const at::Tensor& y, const at::Tensor& update, const at::Tensor& mask, double scale) {
  launch_on(y, AddMasked{.update = update.const_data_ptr<float>(),
                         .mask = static_cast<const uint8_t*>(data_or_null(mask)),
                         .y = y.mutable_data_ptr(),
                         .count = y.numel(),
                         .scale = static_cast<float>(scale)});
}

const Operations kOperations{.name = "cuda",
                             .rms_norm_forward = rms_norm_forward,
                             .rms_norm_backward = rms_norm_backward,
                             .layer_norm_forward = layer_norm_forward,
                             .layer_norm_backward = layer_norm_backward,
                             .gelu_forward = gelu_forward,
                             .gelu_backward = gelu_backward,
                             .swiglu_forward = swiglu_forward,
                             .swiglu_backward = swiglu_backward,
                             .add_scaled = add_scaled,
                             .embedding_backward = embedding_backward,
                             .cross_entropy = cross_entropy,
                             .project_down = project_down,
                             .project_up = project_up,
                             .outer_sum = outer_sum,
                             .dropout_mask = dropout_mask,
                             .attention = attention,
                             .rotate = rotate,
                             .dequantize = dequantize,
                             .adamw = adamw,
                             .sgd = sgd,
                             .gradient_stats = gradient_stats};

}  // namespace assay::engine::cuda
