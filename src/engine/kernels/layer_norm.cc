#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

using Inputs = cuda::LayerNormInputs;
using Normed = cuda::LayerNormOutputs;
using Saved = cuda::LayerNormSaved;
using Gradients = cuda::LayerNormGradients;

at::Tensor contiguous_or_undefined(const at::Tensor& x) {
  return x.defined() ? x.contiguous() : x;
}

/// Whether our kernels know a residual stream like `x` beside a result of `dtype`.
bool is_known_pair(const at::Tensor& x, at::ScalarType dtype) {
  return x.scalar_type() == dtype || x.scalar_type() == at::kFloat;
}

const TypedKernels* kernels_between(const at::Tensor& x, at::ScalarType dtype) {
  return is_known_pair(x, dtype) ? kernels_for(x.new_empty({0}, dtype)) : nullptr;
}

const cuda::CudaOps* ops_between(const at::Tensor& x, at::ScalarType dtype) {
  return is_known_pair(x, dtype) ? cuda::ops_for(x) : nullptr;
}

Normed forward_aten(const Inputs& in) {
  Normed out;
  out.x_TH = in.block_TH.defined() ? in.x_TH + in.block_TH : in.x_TH;
  const at::Tensor wide_TH = to_compute(out.x_TH);
  const at::Tensor mean_T1 = wide_TH.mean(-1, /*keepdim=*/true);
  const at::Tensor distance_TH = wide_TH - mean_T1;
  const at::Tensor inverse_T1 = distance_TH.square().mean(-1, /*keepdim=*/true).add_(in.eps).rsqrt_();
  out.y_TH = (distance_TH * inverse_T1 * in.weight_H + in.bias_H).to(in.dtype);
  out.mean_T = mean_T1.squeeze(-1);
  out.inverse_deviation_T = inverse_T1.squeeze(-1);
  return out;
}

Normed forward_cpu(const TypedKernels& kernels, const Inputs& in) {
  Normed out;
  const int64_t width = in.x_TH.size(-1);
  const int64_t rows = in.x_TH.numel() / std::max<int64_t>(1, width);
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
  const auto run = in.x_TH.scalar_type() == in.dtype ? kernels.layer_norm_forward : kernels.layer_norm_forward_wide;
  parallel_rows(rows, width, [&](int64_t begin, int64_t end) { run(arguments, begin, end); });
  return out;
}

/// `block` undefined: the norm of x alone.
Normed norm_forward(const at::Tensor& x, const at::Tensor& block, const at::Tensor& weight_H, const at::Tensor& bias_H,
                    double eps, at::ScalarType dtype) {
  const Inputs in{.x_TH = x.contiguous(),
                  .block_TH = contiguous_or_undefined(block),
                  .weight_H = to_compute(weight_H).contiguous(),
                  .bias_H = to_compute(bias_H).contiguous(),
                  .eps = eps,
                  .dtype = dtype};
  if (const cuda::CudaOps* ops = ops_between(x, dtype); ops != nullptr) {
    return ops->layer_norm_forward(in);
  }
  const TypedKernels* kernels = kernels_between(x, dtype);
  return kernels == nullptr ? forward_aten(in) : forward_cpu(*kernels, in);
}

Gradients backward_aten(const Saved& saved) {
  Gradients result;
  const at::Tensor inverse_T1 = saved.inverse_deviation_T.unsqueeze(-1);
  const at::Tensor normed_TH = (to_compute(saved.x_TH) - saved.mean_T.unsqueeze(-1)) * inverse_T1;
  const at::Tensor wide_grad_TH = to_compute(saved.grad_y_TH);
  if (saved.want_affine) {
    result.affine_2H = at::stack({(wide_grad_TH * normed_TH).sum(0), wide_grad_TH.sum(0)});
  }
  const at::Tensor scaled_TH = wide_grad_TH * saved.weight_H;
  const at::Tensor pull_T1 = (scaled_TH * normed_TH).mean(-1, /*keepdim=*/true);
  at::Tensor grad_x_TH = (scaled_TH - scaled_TH.mean(-1, /*keepdim=*/true) - normed_TH * pull_T1) * inverse_T1;
  if (saved.extra_TH.defined()) {
    grad_x_TH += saved.extra_TH;
  }
  result.x_TH = grad_x_TH.to(saved.x_TH.scalar_type());
  result.block_TH = grad_x_TH.to(saved.grad_y_TH.scalar_type());
  return result;
}

Gradients backward_cpu(const TypedKernels& kernels, const Saved& saved) {
  Gradients result;
  const int64_t width = saved.x_TH.size(-1);
  const int64_t rows = saved.mean_T.size(0);
  const bool one_dtype = saved.x_TH.scalar_type() == saved.grad_y_TH.scalar_type();
  result.x_TH = at::empty_like(saved.x_TH);
  result.block_TH = one_dtype ? result.x_TH : at::empty_like(saved.grad_y_TH);
  const int64_t partials = (rows + kRowsPerPartial - 1) / kRowsPerPartial;
  at::Tensor partial_P2H;
  if (saved.want_affine) {
    partial_P2H = at::zeros({partials, 2, width}, saved.mean_T.options());
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
    result.affine_2H = column_sums(partial_P2H.view({partials, 2 * width}), at::kFloat).view({2, width});
  }
  return result;
}

/// Of x, block, weight and bias; `saved` are what save() kept.
variable_list norm_backward(const at::Tensor& grad_y, const at::Tensor& extra, const variable_list& saved,
                            bool want_affine) {
  const at::Tensor& weight_H = saved[1];
  const Saved in{.grad_y_TH = grad_y.contiguous(),
                 .extra_TH = contiguous_or_undefined(extra),
                 .x_TH = saved[0],
                 .weight_H = to_compute(weight_H).contiguous(),
                 .mean_T = saved[2],
                 .inverse_deviation_T = saved[3],
                 .want_affine = want_affine};
  const auto dtype = grad_y.scalar_type();
  Gradients result;
  if (const cuda::CudaOps* ops = ops_between(in.x_TH, dtype); ops != nullptr) {
    result = ops->layer_norm_backward(in);
  } else if (const TypedKernels* kernels = kernels_between(in.x_TH, dtype); kernels != nullptr) {
    result = backward_cpu(*kernels, in);
  } else {
    result = backward_aten(in);
  }
  variable_list gradients{result.x_TH, result.block_TH, {}, {}};
  if (want_affine) {
    const at::Tensor affine_2H = result.affine_2H.to(weight_H.scalar_type());
    gradients[2] = affine_2H.select(0, 0).clone();
    gradients[3] = affine_2H.select(0, 1).clone();
  }
  return gradients;
}

void save(AutogradContext* ctx, const Normed& normed, const at::Tensor& weight_H) {
  ctx->save_for_backward({normed.x_TH, weight_H, normed.mean_T, normed.inverse_deviation_T});
}

struct LayerNorm : torch::autograd::Function<LayerNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TH, const at::Tensor& weight_H,
                            const at::Tensor& bias_H, double eps, at::ScalarType dtype) {
    Normed normed = norm_forward(x_TH, {}, weight_H, bias_H, eps, dtype);
    save(ctx, normed, weight_H);
    return normed.y_TH;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const bool want_affine = ctx->needs_input_grad(1) || ctx->needs_input_grad(2);
    const variable_list result = norm_backward(grads[0], {}, ctx->get_saved_variables(), want_affine);
    return {result[0], result[2], result[3], {}, {}};
  }
};

struct AddLayerNorm : torch::autograd::Function<AddLayerNorm> {
  static variable_list forward(AutogradContext* ctx, const at::Tensor& residual_TH, const at::Tensor& block_TH,
                               const at::Tensor& weight_H, const at::Tensor& bias_H, double eps) {
    Normed normed = norm_forward(residual_TH, block_TH, weight_H, bias_H, eps, block_TH.scalar_type());
    ctx->set_materialize_grads(false);
    save(ctx, normed, weight_H);
    ctx->saved_data["block_dtype"] = block_TH.scalar_type();
    return {normed.x_TH, normed.y_TH};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    if (!grads[1].defined()) {
      const auto dtype = ctx->saved_data["block_dtype"].toScalarType();
      return {grads[0], grads[0].defined() ? grads[0].to(dtype) : at::Tensor(), {}, {}, {}};
    }
    const bool want_affine = ctx->needs_input_grad(2) || ctx->needs_input_grad(3);
    const variable_list result = norm_backward(grads[1], grads[0], ctx->get_saved_variables(), want_affine);
    return {result[0], result[1], result[2], result[3], {}};
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
