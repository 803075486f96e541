#include <ATen/ops/empty.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "engine/kernels/rows_to_visit.h"
#include "engine/kernels/state_space.h"

namespace assay::engine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor row_of(const at::Tensor& x_TC, const std::vector<int64_t>& row_offsets, size_t row) {
  return x_TC.narrow(0, row_offsets[row], row_offsets[row + 1] - row_offsets[row]);
}

/// Of the rows' tokens `back` tokens ago, and the tokens that they are for.
at::Tensor earlier(const at::Tensor& x_LC, int64_t back) {
  return x_LC.narrow(0, 0, x_LC.size(0) - back);
}
at::Tensor later(const at::Tensor& x_LC, int64_t back) {
  return x_LC.narrow(0, back, x_LC.size(0) - back);
}

/// The convolution of a row, in float32.
at::Tensor convolve(const at::Tensor& x_LC, const at::Tensor& weight_CK, const at::Tensor& bias_C) {
  const int64_t width = weight_CK.size(1);
  at::Tensor y_LC = x_LC * weight_CK.select(1, width - 1);
  if (bias_C.defined()) {
    y_LC.add_(bias_C);
  }
  for (int64_t back = 1; back < std::min(width, x_LC.size(0)); ++back) {
    later(y_LC, back).addcmul_(earlier(x_LC, back), weight_CK.select(1, width - 1 - back));
  }
  return y_LC;
}

struct CausalConvSilu : torch::autograd::Function<CausalConvSilu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TC, const at::Tensor& weight_CK,
                            const std::optional<at::Tensor>& bias_C, const std::vector<int64_t>& row_offsets) {
    ctx->save_for_backward({x_TC, weight_CK, bias_C.value_or(at::Tensor())});
    ctx->saved_data["row_offsets"] = row_offsets;
    const at::Tensor weight = weight_CK.to(at::kFloat);
    const at::Tensor bias = bias_C ? bias_C->to(at::kFloat) : at::Tensor();
    const at::Tensor y_TC = at::empty(x_TC.sizes(), x_TC.options());
    for (const size_t row : rows_to_visit(x_TC, row_offsets)) {
      const at::Tensor x_LC = row_of(x_TC, row_offsets, row).to(at::kFloat);
      row_of(y_TC, row_offsets, row).copy_(at::silu(convolve(x_LC, weight, bias)));
    }
    return y_TC;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const auto row_offsets = ctx->saved_data["row_offsets"].toIntVector();
    const at::Tensor weight = saved[1].to(at::kFloat);
    const at::Tensor bias = saved[2].defined() ? saved[2].to(at::kFloat) : saved[2];
    const at::Tensor dx_TC = at::empty(saved[0].sizes(), saved[0].options());
    const at::Tensor dweight_CK = at::zeros(weight.sizes(), weight.options());
    const at::Tensor dbias_C = at::zeros({weight.size(0)}, weight.options());
    for (const size_t row : rows_to_visit(saved[0], row_offsets)) {
      const at::Tensor x_LC = row_of(saved[0], row_offsets, row).to(at::kFloat);
      const at::Tensor dy_LC = row_of(grads[0], row_offsets, row).to(at::kFloat);
      const at::Tensor dconv_LC = at::silu_backward(dy_LC, convolve(x_LC, weight, bias));
      row_of(dx_TC, row_offsets, row).copy_(to_input(dconv_LC, weight));
      if (ctx->needs_input_grad(1)) {
        add_to_weight(dweight_CK, dconv_LC, x_LC);
      }
      dbias_C.add_(dconv_LC.sum(0));
    }
    return {dx_TC, dweight_CK.to(saved[1].scalar_type()),
            saved[2].defined() ? dbias_C.to(saved[2].scalar_type()) : at::Tensor(), at::Tensor()};
  }

  static at::Tensor to_input(const at::Tensor& dconv_LC, const at::Tensor& weight_CK) {
    const int64_t width = weight_CK.size(1);
    at::Tensor dx_LC = dconv_LC * weight_CK.select(1, width - 1);
    for (int64_t back = 1; back < std::min(width, dconv_LC.size(0)); ++back) {
      earlier(dx_LC, back).addcmul_(later(dconv_LC, back), weight_CK.select(1, width - 1 - back));
    }
    return dx_LC;
  }

  static void add_to_weight(const at::Tensor& dweight_CK, const at::Tensor& dconv_LC, const at::Tensor& x_LC) {
    const int64_t width = dweight_CK.size(1);
    for (int64_t back = 0; back < std::min(width, x_LC.size(0)); ++back) {
      dweight_CK.select(1, width - 1 - back).add_((later(dconv_LC, back) * earlier(x_LC, back)).sum(0));
    }
  }
};

}  // namespace

at::Tensor causal_conv_silu(const at::Tensor& x_TC, const at::Tensor& weight_CK, const at::Tensor& bias_C,
                            const std::vector<int64_t>& row_offsets) {
  return CausalConvSilu::apply(x_TC, weight_CK, bias_C.defined() ? std::optional(bias_C) : std::nullopt, row_offsets);
}

}  // namespace assay::engine
