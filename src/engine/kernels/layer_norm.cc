#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"

namespace assay::engine {
namespace {

/// Rows whose contributions to the gradients of weight and bias are summed into one float32 row each, whatever the
/// thread.
constexpr int64_t kRowsPerPartial = 64;

struct Normed {
  at::Tensor x_TH;  ///< what was normed: the input, or the new residual
  at::Tensor y_TH;
  at::Tensor mean_T;
  at::Tensor inverse_deviation_T;
};

/// Parameters as the kernels take them: in the dtype that arithmetic is done in.
struct Affine {
  at::Tensor weight_H;
  at::Tensor bias_H;
};

Normed forward_aten(const at::Tensor& x_TH, const at::Tensor& block_TH, const Affine& affine, double eps,
                    at::ScalarType dtype) {
  Normed out;
  out.x_TH = block_TH.defined() ? x_TH + block_TH : x_TH;
  const at::Tensor wide_TH = to_compute(out.x_TH);
  const at::Tensor mean_T1 = wide_TH.mean(-1, /*keepdim=*/true);
  const at::Tensor distance_TH = wide_TH - mean_T1;
  const at::Tensor inverse_T1 = distance_TH.square().mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
  out.y_TH = (distance_TH * inverse_T1 * affine.weight_H + affine.bias_H).to(dtype);
  out.mean_T = mean_T1.squeeze(-1);
  out.inverse_deviation_T = inverse_T1.squeeze(-1);
  return out;
}

/// The kernels that write `narrow` beside a residual stream of `wide`; null where there are none.
const TypedKernels* kernels_between(const at::Tensor& residual, at::ScalarType dtype) {
  const bool known = residual.scalar_type() == dtype || residual.scalar_type() == at::kFloat;
  return known ? kernels_for(residual.new_empty({0}, dtype)) : nullptr;
}

Normed forward_cpu(const TypedKernels& kernels, const at::Tensor& x_TH, const at::Tensor& block_TH,
                   const Affine& affine, double eps, at::ScalarType dtype) {
  Normed out;
  const int64_t width = x_TH.size(-1);
  const int64_t rows = x_TH.numel() / std::max<int64_t>(1, width);
  out.x_TH = block_TH.defined() ? at::empty_like(x_TH) : x_TH;
  out.y_TH = at::empty_like(x_TH, x_TH.options().dtype(dtype));
  out.mean_T = at::empty({rows}, x_TH.options().dtype(at::kFloat));
  out.inverse_deviation_T = at::empty_like(out.mean_T);
  const LayerNormForward arguments{.x = x_TH.const_data_ptr(),
                                   .block = data_or_null(block_TH),
                                   .weight = affine.weight_H.const_data_ptr<float>(),
                                   .bias = affine.bias_H.const_data_ptr<float>(),
                                   .sum = block_TH.defined() ? out.x_TH.mutable_data_ptr() : nullptr,
                                   .y = out.y_TH.mutable_data_ptr(),
                                   .mean = out.mean_T.mutable_data_ptr<float>(),
                                   .inverse_deviation = out.inverse_deviation_T.mutable_data_ptr<float>(),
                                   .width = width,
                                   .eps = static_cast<float>(eps)};
  const auto run = x_TH.scalar_type() == dtype ? kernels.layer_norm_forward : kernels.layer_norm_forward_wide;
  parallel_rows(rows, width, [&](int64_t begin, int64_t end) { run(arguments, begin, end); });
  return out;
}

/// `block` undefined: the norm of x alone.
Normed norm_forward(const at::Tensor& x, const at::Tensor& block, const at::Tensor& weight_H, const at::Tensor& bias_H,
                    double eps, at::ScalarType dtype) {
  const Affine affine{to_compute(weight_H).contiguous(), to_compute(bias_H).contiguous()};
  if (const TypedKernels* kernels = kernels_between(x, dtype); kernels != nullptr) {
    return forward_cpu(*kernels, x.contiguous(), block.defined() ? block.contiguous() : block, affine, eps, dtype);
  }
  return forward_aten(x, block, affine, eps, dtype);
}

/// What backward needs besides the incoming gradients.
struct NormSaved {
  at::Tensor x_TH;
  at::Tensor weight_H;
  at::Tensor mean_T;
  at::Tensor inverse_deviation_T;
  bool want_affine = false;
};

struct NormGradients {
  at::Tensor x_TH;
  at::Tensor block_TH;  ///< of the dtype of the incoming gradient
  at::Tensor weight_H;  ///< undefined when not wanted
  at::Tensor bias_H;
};

/// `extra_TH`, when defined, is added to the gradient of x before it is rounded.
NormGradients backward_aten(const at::Tensor& grad_y_TH, const at::Tensor& extra_TH, const NormSaved& saved) {
  NormGradients result;
  const at::Tensor inverse_T1 = saved.inverse_deviation_T.unsqueeze(-1);
  const at::Tensor normed_TH = (to_compute(saved.x_TH) - saved.mean_T.unsqueeze(-1)) * inverse_T1;
  const at::Tensor wide_grad_TH = to_compute(grad_y_TH);
  if (saved.want_affine) {
    result.weight_H = (wide_grad_TH * normed_TH).sum(0).to(saved.weight_H.scalar_type());
    result.bias_H = wide_grad_TH.sum(0).to(saved.weight_H.scalar_type());
  }
  const at::Tensor scaled_TH = wide_grad_TH * to_compute(saved.weight_H);
  const at::Tensor pull_T1 = (scaled_TH * normed_TH).mean(-1, /*keepdim=*/true);
  at::Tensor grad_x_TH = (scaled_TH - scaled_TH.mean(-1, /*keepdim=*/true) - normed_TH * pull_T1) * inverse_T1;
  if (extra_TH.defined()) {
    grad_x_TH += extra_TH;
  }
  result.x_TH = grad_x_TH.to(saved.x_TH.scalar_type());
  result.block_TH = grad_x_TH.to(grad_y_TH.scalar_type());
  return result;
}

NormGradients backward_cpu(const TypedKernels& kernels, const at::Tensor& grad_y_TH, const at::Tensor& extra_TH,
                           const NormSaved& saved) {
  NormGradients result;
  const int64_t width = saved.x_TH.size(-1);
  const int64_t rows = saved.mean_T.size(0);
  const bool one_dtype = saved.x_TH.scalar_type() == grad_y_TH.scalar_type();
  result.x_TH = at::empty_like(saved.x_TH);
  result.block_TH = one_dtype ? result.x_TH : at::empty_like(grad_y_TH);
  const int64_t partials = (rows + kRowsPerPartial - 1) / kRowsPerPartial;
  at::Tensor partial_P2H;
  if (saved.want_affine) {
    partial_P2H = at::zeros({partials, 2, width}, saved.mean_T.options());
  }
  const at::Tensor weight_H = to_compute(saved.weight_H).contiguous();
  const LayerNormBackward arguments{.grad_y = grad_y_TH.const_data_ptr(),
                                    .extra = data_or_null(extra_TH),
                                    .x = saved.x_TH.const_data_ptr(),
                                    .weight = weight_H.const_data_ptr<float>(),
                                    .mean = saved.mean_T.const_data_ptr<float>(),
                                    .inverse_deviation = saved.inverse_deviation_T.const_data_ptr<float>(),
                                    .grad_x = result.x_TH.mutable_data_ptr(),
                                    .grad_block = one_dtype ? nullptr : result.block_TH.mutable_data_ptr(),
                                    .width = width};
  const auto run = one_dtype ? kernels.layer_norm_backward : kernels.layer_norm_backward_wide;
  auto* partial_rows = static_cast<float*>(mutable_data_or_null(partial_P2H));
  at::parallel_for(0, partials, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      float* grad_weight = partial_rows == nullptr ? nullptr : partial_rows + 2 * p * width;
      run(arguments, grad_weight, grad_weight == nullptr ? nullptr : grad_weight + width, p * kRowsPerPartial,
          std::min(rows, (p + 1) * kRowsPerPartial));
    }
  });
  if (saved.want_affine) {
    const at::Tensor sums_2H = partial_P2H.sum(0).to(saved.weight_H.scalar_type());
    result.weight_H = sums_2H.select(0, 0).clone();
    result.bias_H = sums_2H.select(0, 1).clone();
  }
  return result;
}

NormGradients norm_backward(const at::Tensor& grad_y, const at::Tensor& extra, const NormSaved& saved) {
  if (const TypedKernels* kernels = kernels_between(saved.x_TH, grad_y.scalar_type()); kernels != nullptr) {
    return backward_cpu(*kernels, grad_y.contiguous(), extra.defined() ? extra.contiguous() : extra, saved);
  }
  return backward_aten(grad_y, extra, saved);
}

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TH, const at::Tensor& weight_H,
                            const at::Tensor& bias_H, double eps, at::ScalarType dtype) {
    Normed normed = norm_forward(x_TH, {}, weight_H, bias_H, eps, dtype);
    ctx->save_for_backward({normed.x_TH, weight_H, normed.mean_T, normed.inverse_deviation_T});
    return normed.y_TH;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const bool want_affine = ctx->needs_input_grad(1) || ctx->needs_input_grad(2);
    const NormGradients result = norm_backward(grads[0], {}, {saved[0], saved[1], saved[2], saved[3], want_affine});
    return {result.x_TH, result.weight_H, result.bias_H, {}, {}};
  }
};

struct AddLayerNorm : torch::autograd::Function<AddLayerNorm> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                               const at::Tensor& weight_H, const at::Tensor& bias_H, double eps) {
    Normed normed = norm_forward(residual_TH, block_TH, weight_H, bias_H, eps, block_TH.scalar_type());
    ctx->set_materialize_grads(false);
    ctx->save_for_backward({normed.x_TH, weight_H, normed.mean_T, normed.inverse_deviation_T});
    ctx->saved_data["block_dtype"] = block_TH.scalar_type();
    return {normed.x_TH, normed.y_TH};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    if (!grads[1].defined()) {
      const auto dtype = ctx->saved_data["block_dtype"].toScalarType();
      return {grads[0], grads[0].defined() ? grads[0].to(dtype) : at::Tensor(), {}, {}, {}};
    }
    const bool want_affine = ctx->needs_input_grad(2) || ctx->needs_input_grad(3);
    const NormGradients result =
        norm_backward(grads[1], grads[0], {saved[0], saved[1], saved[2], saved[3], want_affine});
    return {result.x_TH, result.block_TH, result.weight_H, result.bias_H, {}};
  }
};

}  // namespace

at::Tensor layer_norm(const at::Tensor& x_TH, const at::Tensor& weight_H, const at::Tensor& bias_H, double eps,
                      std::optional<at::ScalarType> dtype) {
  return LayerNorm::apply(x_TH, weight_H, bias_H, eps, dtype.value_or(x_TH.scalar_type()));
}

std::pair<at::Tensor, at::Tensor> add_layer_norm(const at::Tensor& residual_TH, const at::Tensor& block_TH,
                                                 const at::Tensor& weight_H, const at::Tensor& bias_H, double eps) {
  variable_list outputs = AddLayerNorm::apply(residual_TH, block_TH, weight_H, bias_H, eps);
  return {outputs[0], outputs[1]};
}

}  // namespace assay::engine
