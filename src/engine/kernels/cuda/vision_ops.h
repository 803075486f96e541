// LayerNorm and GELU over tensors by our CUDA kernels, without autograd; see ops.h. Private to engine/kernels.
#pragma once

#include <ATen/core/Tensor.h>

namespace assay::engine::cuda {

struct LayerNormInputs {
  at::Tensor x_TH;      ///< of `dtype` or float32
  at::Tensor block_TH;  ///< of `dtype`; undefined: the norm of x alone
  at::Tensor weight_H;  ///< float32
  at::Tensor bias_H;    ///< float32
  double eps = 0.0;
  at::ScalarType dtype = at::kFloat;  ///< of the result
};

struct LayerNormOutputs {
  at::Tensor x_TH;  ///< what was normed: the input, or the new residual
  at::Tensor y_TH;
  at::Tensor mean_T;
  at::Tensor inverse_deviation_T;
};
LayerNormOutputs layer_norm_forward(const LayerNormInputs& in);

struct LayerNormSaved {
  at::Tensor grad_y_TH;
  at::Tensor extra_TH;  ///< undefined: none
  at::Tensor x_TH;
  at::Tensor weight_H;  ///< float32
  at::Tensor mean_T;
  at::Tensor inverse_deviation_T;
  bool want_affine = false;
};

struct LayerNormGradients {
  at::Tensor x_TH;
  at::Tensor block_TH;   ///< of the dtype of the incoming gradient
  at::Tensor affine_2H;  ///< float32: of the weight, then of the bias; undefined when not wanted
};
LayerNormGradients layer_norm_backward(const LayerNormSaved& in);

at::Tensor gelu_forward(const at::Tensor& x, bool tanh_form);
at::Tensor gelu_backward(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form);

}  // namespace assay::engine::cuda
