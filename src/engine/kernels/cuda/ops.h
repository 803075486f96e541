// Our CUDA kernels as operations over tensors, without autograd. Private to engine/kernels.
//
// Tensors are contiguous and on one CUDA device; work is queued on libtorch's current stream. Roundings are those of
// the CPU kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cuda/vision_ops.h"
#include "engine/kernels/optimizer_step.h"
#include "engine/kernels/update_scale.h"

namespace assay::engine::cuda {

struct NormOutputs {
  at::Tensor x_TH;  ///< what was normed: the input, or the new residual
  at::Tensor y_TH;
  at::Tensor inverse_rms_T;
};

struct NormInputs {
  at::Tensor grad_y_TH;
  at::Tensor extra_TH;  ///< undefined: none
  at::Tensor x_TH;
  at::Tensor weight_H;
  at::Tensor inverse_rms_T;
  double multiplier = 1.0;
  bool want_weight = false;
};

struct NormGradients {
  at::Tensor x_TH;
  at::Tensor block_TH;
  at::Tensor weight_H;  ///< undefined when not wanted
};

/// The table of operations; see the CPU's counterparts in cpu/cpu_kernels.h and the tasks in tasks.h.
struct CudaOps {
  /// `block` undefined: the norm of x alone.
  NormOutputs (*norm_forward)(const at::Tensor& x_TH, const at::Tensor& block_TH, const at::Tensor& weight_H,
                              double eps, double multiplier);
  NormGradients (*norm_backward)(const NormInputs& inputs);
  LayerNormOutputs (*layer_norm_forward)(const LayerNormInputs& inputs);
  LayerNormGradients (*layer_norm_backward)(const LayerNormSaved& saved);
  at::Tensor (*gelu_forward)(const at::Tensor& x, bool tanh_form);
  at::Tensor (*gelu_backward)(const at::Tensor& grad_y, const at::Tensor& x, bool tanh_form);
  at::Tensor (*swiglu_forward)(const at::Tensor& gate_TI, const at::Tensor& up_TI);
  /// Gradients of gate and up.
  std::tuple<at::Tensor, at::Tensor> (*swiglu_backward)(const at::Tensor& grad_TI, const at::Tensor& gate_TI,
                                                        const at::Tensor& up_TI);
  at::Tensor (*add_scaled)(const at::Tensor& residual_TH, const at::Tensor& block_TH, double multiplier);
  /// x is [T, heads, D]; the table is float32.
  at::Tensor (*rotate)(const at::Tensor& x_TND, const at::Tensor& cos_PD2, const at::Tensor& sin_PD2,
                       const at::Tensor& positions_T, bool inverse);
  /// The sum over the rows, float32; unless `gradient` is 0 the logits become their gradients (see CrossEntropy).
  at::Tensor (*cross_entropy)(const at::Tensor& logits_CV, const at::Tensor& targets_C, double divisor,
                              double gradient);
  /// The pieces of float32 values as bfloat16 (see Split): side by side, [rows, 3 * columns], or else one below the
  /// other, [3 * rows, columns].
  at::Tensor (*split)(const at::Tensor& values, std::array<int, 3> pieces, bool side_by_side);
  /// y += scale * update where the mask (undefined: everywhere) is not 0.
  void (*add_masked)(const at::Tensor& y, const at::Tensor& update, const at::Tensor& mask, double scale);
  /// `arguments` belong to the tensors one by one; all but the pointers and the decay are the same in each. The
  /// rule takes the place of their gradient_scale.
  void (*adamw)(const std::vector<AdamwTensors>& tensors, const std::vector<AdamwArguments>& arguments,
                const PlainRule& rule);
  void (*sgd)(const std::vector<AdamwTensors>& tensors, const std::vector<SgdArguments>& arguments,
              const PlainRule& rule);
  /// As gradient_stats() of gradient_rule.h, of at least one tensor.
  at::Tensor (*gradient_stats)(const std::vector<at::Tensor>& tensors);
};

/// The operations for tensors like `x`; null where libtorch's own are used instead: float64, the CPU, and CUDA in a
/// build without nvcc.
const CudaOps* ops_for(const at::Tensor& x);

/// Makes ops_for() return `ops` for tensors on the CPU too; null: as before. For tests, which run the kernels' bodies
/// there.
void use_ops_on_cpu(const CudaOps* ops);

/// The table by our kernels.
extern const CudaOps kCudaOps;

}  // namespace assay::engine::cuda
