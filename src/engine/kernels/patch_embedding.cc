#include "engine/kernels/autograd_support.h"
#include "engine/kernels/ops.h"
#include "engine/kernels/products.h"

namespace assay::engine {
namespace {

/// Every patch as a row, in the order of the convolution's weight: channels, then rows, then columns of pixels.
at::Tensor patch_rows(const at::Tensor& pixels_BCHW, int64_t patch, at::ScalarType dtype) {
  const int64_t images = pixels_BCHW.size(0);
  const int64_t channels = pixels_BCHW.size(1);
  const int64_t down = pixels_BCHW.size(2) / patch;
  const int64_t across = pixels_BCHW.size(3) / patch;
  at::Tensor rows = at::empty({images, down, across, channels, patch, patch}, pixels_BCHW.options().dtype(dtype));
  rows.copy_(pixels_BCHW.reshape({images, channels, down, patch, across, patch}).permute({0, 2, 4, 1, 3, 5}));
  return rows.view({images * down * across, channels * patch * patch});
}

at::Tensor flat_weight(const at::Tensor& weight_HCPP, at::ScalarType dtype) {
  return weight_HCPP.flatten(1).to(dtype);
}

struct EmbedPatches : torch::autograd::Function<EmbedPatches> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& pixels_BCHW, const at::Tensor& weight_HCPP,
                            const at::Tensor& bias_H, const at::Tensor& class_token_11H,
                            const at::Tensor& positions_1LH, at::ScalarType dtype) {
    ctx->save_for_backward({pixels_BCHW, weight_HCPP});
    ctx->saved_data["dtype"] = dtype;
    const int64_t images = pixels_BCHW.size(0);
    const int64_t tokens = positions_1LH.size(1);
    const int64_t hidden = weight_HCPP.size(0);
    const at::Tensor rows = patch_rows(pixels_BCHW, weight_HCPP.size(2), dtype);
    const at::Tensor patches = product_nt(rows, flat_weight(weight_HCPP, dtype), bias_H.to(dtype));
    at::Tensor x_BLH = at::empty({images, tokens, hidden}, positions_1LH.options());
    x_BLH.narrow(1, 0, 1).copy_(class_token_11H + positions_1LH.narrow(1, 0, 1));
    at::Tensor patch_part = x_BLH.narrow(1, 1, tokens - 1);
    patch_part.copy_(patches.view({images, tokens - 1, hidden})).add_(positions_1LH.narrow(1, 1, tokens - 1));
    return x_BLH.view({images * tokens, hidden});
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor& pixels_BCHW = saved[0];
    const at::Tensor& weight_HCPP = saved[1];
    const auto dtype = ctx->saved_data["dtype"].toScalarType();
    const int64_t images = pixels_BCHW.size(0);
    const int64_t hidden = weight_HCPP.size(0);
    const at::Tensor grad_BLH = grads[0].view({images, -1, hidden});
    const int64_t tokens = grad_BLH.size(1);
    const at::Tensor wide_sum_1LH = grad_BLH.sum({0}, /*keepdim=*/true, compute_dtype(grad_BLH));
    const auto parameter_dtype = weight_HCPP.scalar_type();
    variable_list result(6);
    result[4] = wide_sum_1LH.to(parameter_dtype);
    result[3] = result[4].narrow(1, 0, 1).clone();
    result[2] = wide_sum_1LH.narrow(1, 1, tokens - 1).sum(at::IntArrayRef({0, 1})).to(parameter_dtype);
    if (ctx->needs_input_grad(1)) {
      const at::Tensor grad_patches =
          grad_BLH.narrow(1, 1, tokens - 1).to(dtype).contiguous().view({images * (tokens - 1), hidden});
      const at::Tensor rows = patch_rows(pixels_BCHW, weight_HCPP.size(2), dtype);
      result[1] = product_tn(grad_patches, rows).to(parameter_dtype).view(weight_HCPP.sizes());
    }
    return result;
  }
};

}  // namespace

at::Tensor embed_patches(const at::Tensor& pixels, const PatchEmbedding& parameters, at::ScalarType dtype) {
  const int64_t patch = parameters.weight_HCPP.size(2);
  TORCH_CHECK(pixels.dim() == 4 && pixels.size(1) == parameters.weight_HCPP.size(1) && pixels.size(2) % patch == 0 &&
                  pixels.size(3) % patch == 0 &&
                  pixels.size(2) / patch * (pixels.size(3) / patch) + 1 == parameters.positions_1LH.size(1),
              "embedding patches of ", patch, " by ", patch, " pixels: pixels of ", pixels.sizes(), " do not give the ",
              parameters.positions_1LH.size(1) - 1, " patches of ", parameters.weight_HCPP.size(1),
              " channels that the model has positions for");
  return EmbedPatches::apply(pixels, parameters.weight_HCPP, parameters.bias_H, parameters.class_token_11H,
                             parameters.positions_1LH, dtype);
}

}  // namespace assay::engine
