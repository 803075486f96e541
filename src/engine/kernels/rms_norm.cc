#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

using Normed = cuda::NormOutputs;
using NormGradients = cuda::NormGradients;

at::Tensor contiguous_or_undefined(const at::Tensor& x) {
  return x.defined() ? x.contiguous() : x;
}

Normed forward_aten(const at::Tensor& x_TH, const at::Tensor& block_TH, const at::Tensor& weight_H, double eps,
                    double multiplier) {
  Normed out;
  out.x_TH = block_TH.defined() ? x_TH + (multiplier == 1.0 ? block_TH : block_TH * multiplier) : x_TH;
  const at::Tensor wide_TH = to_compute(out.x_TH);
  const at::Tensor inverse_T1 = wide_TH.square().mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
  out.y_TH = weight_H * (wide_TH * inverse_T1).to(x_TH.scalar_type());
  out.inverse_rms_T = inverse_T1.squeeze(-1);
  return out;
}

Normed forward_cpu(const TypedKernels& kernels, const at::Tensor& x_TH, const at::Tensor& block_TH,
                   const at::Tensor& weight_H, double eps, double multiplier) {
  Normed out;
  const int64_t width = x_TH.size(-1);
  const int64_t rows = x_TH.numel() / std::max<int64_t>(1, width);
  out.x_TH = block_TH.defined() ? at::empty_like(x_TH) : x_TH;
  out.y_TH = at::empty_like(x_TH);
  out.inverse_rms_T = at::empty({rows}, x_TH.options().dtype(at::kFloat));
  const NormForward arguments{.x = x_TH.const_data_ptr(),
                              .block = data_or_null(block_TH),
                              .weight = weight_H.const_data_ptr(),
                              .sum = block_TH.defined() ? out.x_TH.mutable_data_ptr() : nullptr,
                              .y = out.y_TH.mutable_data_ptr(),
                              .inverse_rms = out.inverse_rms_T.mutable_data_ptr<float>(),
                              .width = width,
                              .eps = static_cast<float>(eps),
                              .multiplier = static_cast<float>(multiplier)};
  parallel_rows(rows, width, [&](int64_t begin, int64_t end) { kernels.norm_forward(arguments, begin, end); });
  return out;
}

/// `block` undefined: the norm of x alone.
Normed norm_forward(const at::Tensor& x, const at::Tensor& block, const at::Tensor& weight_H, double eps,
                    double multiplier) {
  const bool one_dtype = x.scalar_type() == weight_H.scalar_type();
  if (const cuda::CudaOps* ops = cuda::ops_for(x); ops != nullptr && one_dtype) {
    return ops->norm_forward(x.contiguous(), contiguous_or_undefined(block), weight_H.contiguous(), eps, multiplier);
  }
  if (const TypedKernels* kernels = kernels_for(x); kernels != nullptr && one_dtype) {
    return forward_cpu(*kernels, x.contiguous(), contiguous_or_undefined(block), weight_H, eps, multiplier);
  }
  return forward_aten(x, block, weight_H, eps, multiplier);
}

/// What backward needs besides the incoming gradients.
struct NormSaved {
  at::Tensor x_TH;
  at::Tensor weight_H;
  at::Tensor inverse_rms_T;
  double multiplier = 1.0;
  bool want_weight = false;
};

/// `extra_TH`, when defined, is added to the gradient of x before it is rounded.
NormGradients backward_aten(const at::Tensor& grad_y_TH, const at::Tensor& extra_TH, const NormSaved& saved) {
  NormGradients result;
  const auto dtype = saved.x_TH.scalar_type();
  const at::Tensor inverse_T1 = saved.inverse_rms_T.unsqueeze(-1);
  const at::Tensor normed_TH = to_compute(saved.x_TH) * inverse_T1;
  const at::Tensor wide_grad_TH = to_compute(grad_y_TH);
  if (saved.want_weight) {
    result.weight_H = (wide_grad_TH * normed_TH.to(dtype)).sum(0).to(saved.weight_H.scalar_type());
  }
  const at::Tensor scaled_TH = wide_grad_TH * to_compute(saved.weight_H);
  const at::Tensor dot_T1 = (scaled_TH * normed_TH).mean(-1, /*keepdim=*/true);
  at::Tensor grad_x_TH = (scaled_TH - normed_TH * dot_T1) * inverse_T1;
  if (extra_TH.defined()) {
    grad_x_TH += extra_TH;
  }
  result.x_TH = grad_x_TH.to(dtype);
  result.block_TH = saved.multiplier == 1.0 ? result.x_TH : result.x_TH * saved.multiplier;
  return result;
}

NormGradients backward_cpu(const TypedKernels& kernels, const at::Tensor& grad_y_TH, const at::Tensor& extra_TH,
                           const NormSaved& saved) {
  NormGradients result;
  const int64_t width = saved.x_TH.size(-1);
  const int64_t rows = saved.inverse_rms_T.size(0);
  result.x_TH = at::empty_like(saved.x_TH);
  result.block_TH = saved.multiplier == 1.0 ? result.x_TH : at::empty_like(saved.x_TH);
  const int64_t partials = (rows + kRowsPerPartial - 1) / kRowsPerPartial;
  at::Tensor partial_PH;
  if (saved.want_weight) {
    partial_PH = at::zeros({partials, width}, saved.inverse_rms_T.options());
  }
  const NormBackward arguments{.grad_y = grad_y_TH.const_data_ptr(),
                               .extra = data_or_null(extra_TH),
                               .x = saved.x_TH.const_data_ptr(),
                               .weight = saved.weight_H.const_data_ptr(),
                               .inverse_rms = saved.inverse_rms_T.const_data_ptr<float>(),
                               .grad_x = result.x_TH.mutable_data_ptr(),
                               .grad_block = saved.multiplier == 1.0 ? nullptr : result.block_TH.mutable_data_ptr(),
                               .width = width,
                               .multiplier = static_cast<float>(saved.multiplier)};
  auto* partial_rows = static_cast<float*>(mutable_data_or_null(partial_PH));
  at::parallel_for(0, partials, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      kernels.norm_backward(arguments, partial_rows == nullptr ? nullptr : partial_rows + p * width,
                            p * kRowsPerPartial, std::min(rows, (p + 1) * kRowsPerPartial));
    }
  });
  if (saved.want_weight) {
    result.weight_H = partial_PH.sum(0).to(saved.weight_H.scalar_type());
  }
  return result;
}

NormGradients norm_backward(const at::Tensor& grad_y, const at::Tensor& extra, const NormSaved& saved) {
  const bool one_dtype = saved.x_TH.scalar_type() == saved.weight_H.scalar_type();
  if (const cuda::CudaOps* ops = cuda::ops_for(saved.x_TH); ops != nullptr && one_dtype) {
    return ops->norm_backward({.grad_y_TH = grad_y.contiguous(),
                               .extra_TH = contiguous_or_undefined(extra),
                               .x_TH = saved.x_TH,
                               .weight_H = saved.weight_H.contiguous(),
                               .inverse_rms_T = saved.inverse_rms_T,
                               .multiplier = saved.multiplier,
                               .want_weight = saved.want_weight});
  }
  if (const TypedKernels* kernels = kernels_for(saved.x_TH); kernels != nullptr && one_dtype) {
    return backward_cpu(*kernels, grad_y.contiguous(), contiguous_or_undefined(extra), saved);
  }
  return backward_aten(grad_y, extra, saved);
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
    Normed normed = norm_forward(x_TH, {}, weight_H, eps, 1.0);
    ctx->save_for_backward({normed.x_TH, weight_H, normed.inverse_rms_T});
    return normed.y_TH;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const NormGradients result =
        norm_backward(grads[0], {}, {saved[0], saved[1], saved[2], 1.0, ctx->needs_input_grad(1)});
    return {result.x_TH, result.weight_H, {}};
  }
};

struct AddRmsNorm : torch::autograd::Function<AddRmsNorm> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                               const at::Tensor& weight_H, double eps, double multiplier) {
    Normed normed = norm_forward(residual_TH, block_TH, weight_H, eps, multiplier);
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({normed.x_TH, weight_H, normed.inverse_rms_T});
    ctx->saved_data["multiplier"] = multiplier;
    return {normed.x_TH, normed.y_TH};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const double multiplier = ctx->saved_data["multiplier"].toDouble();
    if (!grads[1].defined()) {
      return {grads[0], multiplier == 1.0 || !grads[0].defined() ? grads[0] : grads[0] * multiplier, {}, {}, {}};
    }
    const NormGradients result =
        norm_backward(grads[1], grads[0], {saved[0], saved[1], saved[2], multiplier, ctx->needs_input_grad(2)});
    return {result.x_TH, result.block_TH, result.weight_H, {}, {}};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
  return RmsNorm::apply(x_TH, weight_H, eps);
}

std::pair<at::Tensor, at::Tensor> add_rms_norm(const at::Tensor& residual_TH, const at::Tensor& block_TH,
                                               const at::Tensor& weight_H, double eps, double multiplier) {
  variable_list outputs = AddRmsNorm::apply(residual_TH, block_TH, weight_H, eps, multiplier);
  return {outputs[0], outputs[1]};
}

}  // namespace assay::engine
