// What the primitives of the operations take and return, whatever computes them. Private to engine/kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/kernels/dropout_mask.h"
#include "engine/kernels/ops.h"

namespace assay::engine {

struct RmsNormInputs {
  at::Tensor x_TH;
  at::Tensor block_TH;  ///< undefined: the norm of x alone
  at::Tensor weight_H;
  double eps = 0.0;
  double multiplier = 1.0;  ///< of the block
};

struct RmsNormOutputs {
  at::Tensor x_TH;  ///< what was normed: the input, or the new residual
  at::Tensor y_TH;
  at::Tensor inverse_rms_T;
};

/// What backward needs.
struct RmsNormSaved {
  at::Tensor grad_y_TH;
  at::Tensor extra_TH;  ///< added to the gradient of x before it is rounded; undefined: none
  at::Tensor x_TH;
  at::Tensor weight_H;
  at::Tensor inverse_rms_T;
  double multiplier = 1.0;
  bool want_weight = false;
};

struct RmsNormGradients {
  at::Tensor x_TH;
  at::Tensor block_TH;
  at::Tensor weight_H;  ///< undefined when not wanted
};

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

struct SwigluGradients {
  at::Tensor gate_TI;
  at::Tensor up_TI;
};

/// The mask that `draw` asks for, where `keys_T` and `mask_TF` lie.
DropoutMaskTask mask_task(const DropoutDraw& draw, const at::Tensor& keys_T, const at::Tensor& mask_TF);

}  // namespace assay::engine
