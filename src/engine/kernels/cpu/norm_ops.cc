#include "engine/kernels/cpu/ops.h"
#include "engine/kernels/cpu/parallel.h"

namespace assay::engine::cpu {

RmsNormOutputs rms_norm_forward(const RmsNormInputs& in) {
  RmsNormOutputs out;
  const int64_t width = in.x_TH.size(-1);
  const int64_t rows = rows_of(in.x_TH);
  out.x_TH = in.block_TH.defined() ? at::empty_like(in.x_TH) : in.x_TH;
  out.y_TH = at::empty_like(in.x_TH);
  out.inverse_rms_T = at::empty({rows}, in.x_TH.options().dtype(at::kFloat));
  const NormForward arguments{.x = in.x_TH.const_data_ptr(),
                              .block = data_or_null(in.block_TH),
                              .weight = in.weight_H.const_data_ptr(),
                              .sum = in.block_TH.defined() ? out.x_TH.mutable_data_ptr() : nullptr,
                              .y = out.y_TH.mutable_data_ptr(),
                              .inverse_rms = out.inverse_rms_T.mutable_data_ptr<float>(),
                              .width = width,
                              .eps = static_cast<float>(in.eps),
                              .multiplier = static_cast<float>(in.multiplier)};
  const TypedKernels& loops = loops_for(in.x_TH);
  parallel_rows(rows, width, [&](int64_t begin, int64_t end) { loops.norm_forward(arguments, begin, end); });
  return out;
}

RmsNormGradients rms_norm_backward(const RmsNormSaved& saved) {
  RmsNormGradients result;
  const int64_t width = saved.x_TH.size(-1);
  const int64_t rows = saved.inverse_rms_T.size(0);
  const bool one_gradient = saved.multiplier == 1.0;
  result.x_TH = at::empty_like(saved.x_TH);
  result.block_TH = one_gradient ? result.x_TH : at::empty_like(saved.x_TH);
  at::Tensor partial_PH;
  if (saved.want_weight) {
    partial_PH = at::zeros({partials_of(rows), width}, saved.inverse_rms_T.options());
  }
  const NormBackward arguments{.grad_y = saved.grad_y_TH.const_data_ptr(),
                               .extra = data_or_null(saved.extra_TH),
                               .x = saved.x_TH.const_data_ptr(),
                               .weight = saved.weight_H.const_data_ptr(),
                               .inverse_rms = saved.inverse_rms_T.const_data_ptr<float>(),
                               .grad_x = result.x_TH.mutable_data_ptr(),
                               .grad_block = one_gradient ? nullptr : result.block_TH.mutable_data_ptr(),
                               .width = width,
                               .multiplier = static_cast<float>(saved.multiplier)};
  auto* sums = static_cast<float*>(mutable_data_or_null(partial_PH));
  const TypedKernels& loops = loops_for(saved.x_TH);
  parallel_partials(rows, [&](int64_t partial, int64_t begin, int64_t end) {
    loops.norm_backward(arguments, sums == nullptr ? nullptr : sums + partial * width, begin, end);
  });
  if (saved.want_weight) {
    result.weight_H = partial_PH.sum(0).to(saved.weight_H.scalar_type());
  }
  return result;
}

LayerNormOutputs layer_norm_forward(const LayerNormInputs& in) {
  LayerNormOutputs out;
  const int64_t width = in.x_TH.size(-1);
  const int64_t rows = rows_of(in.x_TH);
  out.x_TH = in.block_TH.defined() ? at::empty_like(in.x_TH) : in.x_TH;
  out.y_TH = at::empty_like(in.x_TH, in.x_TH.options().dtype(in.dtype));
  out.mean_T = at::empty({rows}, in.x_TH.options().dtype(at::kFloat));
  out.inverse_deviation_T = at::empty_like(out.mean_T);
  const LayerNormForward arguments{.x = in.x_TH.const_data_ptr(),
                                   .block = data_or_null(in.block_TH),
                                   .weight = in.weight_H.const_data_ptr<float>(),
                                   .bias = in.bias_H.const_data_ptr<float>(),
                                   .sum = in.block_TH.defined() ? out.x_TH.mutable_data_ptr() : nullptr,
                                   .y = out.y_TH.mutable_data_ptr(),
                                   .mean = out.mean_T.mutable_data_ptr<float>(),
                                   .inverse_deviation = out.inverse_deviation_T.mutable_data_ptr<float>(),
                                   .width = width,
                                   .eps = static_cast<float>(in.eps)};
  const TypedKernels& loops = in.x_TH.is_meta() ? loops_without_work() : loops_for(in.dtype);
  const auto run = in.x_TH.scalar_type() == in.dtype ? loops.layer_norm_forward : loops.layer_norm_forward_wide;
  parallel_rows(rows, width, [&](int64_t begin, int64_t end) { run(arguments, begin, end); });
  return out;
}

LayerNormGradients layer_norm_backward(const LayerNormSaved& saved) {
  LayerNormGradients result;
  const int64_t width = saved.x_TH.size(-1);
  const int64_t rows = saved.mean_T.size(0);
  const bool one_dtype = saved.x_TH.scalar_type() == saved.grad_y_TH.scalar_type();
  result.x_TH = at::empty_like(saved.x_TH);
  result.block_TH = one_dtype ? result.x_TH : at::empty_like(saved.grad_y_TH);
  at::Tensor partial_P2H;
  if (saved.want_affine) {
    partial_P2H = at::zeros({partials_of(rows), 2, width}, saved.mean_T.options());
  }
  const LayerNormBackward arguments{.grad_y = saved.grad_y_TH.const_data_ptr(),
                                    .extra = data_or_null(saved.extra_TH),
                                    .x = saved.x_TH.const_data_ptr(),
                                    .weight = saved.weight_H.const_data_ptr<float>(),
                                    .mean = saved.mean_T.const_data_ptr<float>(),
                                    .inverse_deviation = saved.inverse_deviation_T.const_data_ptr<float>(),
                                    .grad_x = result.x_TH.mutable_data_ptr(),
                                    .grad_block = one_dtype ? nullptr : result.block_TH.mutable_data_ptr(),
                                    .width = width};
  const TypedKernels& loops = loops_for(saved.grad_y_TH);
  const auto run = one_dtype ? loops.layer_norm_backward : loops.layer_norm_backward_wide;
  auto* sums = static_cast<float*>(mutable_data_or_null(partial_P2H));
  parallel_partials(rows, [&](int64_t partial, int64_t begin, int64_t end) {
    float* grad_weight = sums == nullptr ? nullptr : sums + 2 * partial * width;
    run(arguments, grad_weight, grad_weight == nullptr ? nullptr : grad_weight + width, begin, end);
  });
  if (saved.want_affine) {
    result.affine_2H = column_sums(partial_P2H.view({partials_of(rows), 2 * width}), at::kFloat).view({2, width});
  }
  return result;
}

}  // namespace assay::engine::cpu
