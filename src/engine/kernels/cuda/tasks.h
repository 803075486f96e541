// What a CUDA kernel is given: plain pointers to memory of the device. Free of CUDA's and of libtorch's headers.
//
// `void*` is memory of the dtype that the kernel is made for. Shapes and rounding are those of the CPU kernels
// (cpu/cpu_kernels.h), so that both give the same results up to the order of sums.
#pragma once

#include <cstdint>

#include "engine/kernels/update_scale.h"

namespace assay::engine::cuda {

/// y = weight * round(x / rms(x)), with x = residual + multiplier * block when `block` is given (then `sum` receives
/// x).
struct NormForward {
  const void* x;
  const void* block;  ///< null: plain norm of x
  const void* weight;
  void* sum;
  void* y;
  float* inverse_rms;  ///< one of each row
  int64_t rows;
  int64_t width;
  float eps;
  float multiplier;
};

/// Gradient of the norm of x, plus `extra` (null: none), into `grad_x`; multiplied by `multiplier` into `grad_block`
/// (null: not wanted). `grad_weight` (null: not wanted) receives `parts` rows of float32, whose sum is the gradient of
/// the weight.
struct NormBackward {
  const void* grad_y;
  const void* extra;
  const void* x;
  const void* weight;
  const float* inverse_rms;
  void* grad_x;
  void* grad_block;
  float* grad_weight;
  int64_t parts;
  int64_t rows;
  int64_t width;
  float multiplier;
};

/// y = (x - mean) / sqrt(variance + eps) * weight + bias, with x = residual + block when `block` is given (then `sum`
/// receives x). x and sum are of the residual stream's dtype, which may be float32 beside a 16-bit result.
struct LayerNormForward {
  const void* x;
  const void* block;  ///< null: plain norm of x
  const float* weight;
  const float* bias;
  void* sum;
  void* y;
  float* mean;               ///< one of each row
  float* inverse_deviation;  ///< one of each row
  int64_t rows;
  int64_t width;
  float eps;
};

/// Gradient of the layer norm of x, plus `extra` (null: none), into `grad_x`, and rounded to the dtype of `grad_y` into
/// `grad_block` (null: not wanted). `grad_affine` (null: not wanted) receives `parts` times two rows of float32: sums
/// for the weight and sums for the bias.
struct LayerNormBackward {
  const void* grad_y;
  const void* extra;
  const void* x;
  const float* weight;
  const float* mean;
  const float* inverse_deviation;
  void* grad_x;
  void* grad_block;
  float* grad_affine;
  int64_t parts;
  int64_t rows;
  int64_t width;
};

struct GeluForward {
  const void* x;
  void* y;
  int64_t count;
  bool tanh_form;
};

struct GeluBackward {
  const void* grad_y;
  const void* x;
  void* grad_x;
  int64_t count;
  bool tanh_form;
};

struct SwigluForward {
  const void* gate;
  const void* up;
  void* y;
  int64_t count;
};

struct SwigluBackward {
  const void* grad_y;
  const void* gate;
  const void* up;
  void* grad_gate;
  void* grad_up;
  int64_t count;
};

/// out = a + multiplier * b.
struct AddScaled {
  const void* a;
  const void* b;
  void* out;
  int64_t count;
  float multiplier;
};

/// Rotary positions over [tokens, heads, 2 * half]: the first half of a head turns with the second. The table is
/// rounded to the dtype of x. `inverse` turns back (for gradients, rounded once). `out` may be `x`.
struct Rotate {
  const void* x;
  const float* cosine;  ///< [positions, half]
  const float* sine;
  const int64_t* positions;  ///< [tokens]
  void* out;
  int64_t tokens;
  int heads;
  int half;
  bool inverse;
};

/// Cross-entropy of each row of logits into `losses`; unless `gradient` is 0 a row becomes
/// (softmax - one_hot) * gradient / divisor.
struct CrossEntropy {
  void* logits;
  const int64_t* targets;
  float* losses;
  int64_t rows;
  int64_t width;
  float divisor;
  float gradient;
  float smoothing;
};

/// Three 16-bit pieces of each float32 of [rows, columns], one after the other in `out`: piece `pieces[p]` of element
/// (i, j) at i * row_stride + p * piece_stride + j. Piece 0 is the value rounded, piece 1 what that leaves, rounded,
/// and piece 2 what is left then: of bfloat16 their sum is the value.
struct Split {
  const float* values;
  void* out;
  int64_t rows;
  int64_t columns;
  int64_t row_stride;
  int64_t piece_stride;
  int pieces[3];
};

/// weight[i, o] = scales[g, o] * (value[i, o] - zeros[g, o]) with g = groups[i]; the words are those of
/// QuantizedTensors, whose inputs are a multiple of 32.
struct Dequantize {
  const uint32_t* words;
  const float* scales;
  const float* zeros;
  const int32_t* groups;
  void* weight;
  int64_t inputs;
  int64_t outputs;
  int bits;
};

/// sums[id] = multiplier * the sum of the rows of `rows` whose tokens have that id, one after the other. `ids` ascend,
/// and `tokens` says which row each is of. Rows of `sums` without tokens are left alone.
struct EmbeddingSums {
  const int64_t* ids;
  const int64_t* tokens;
  const void* rows;
  void* sums;
  int64_t count;
  int64_t width;
  float multiplier;
};

/// y += update where `mask` (bytes; null: everywhere) is not 0, times `scale`, rounded once.
struct AddMasked {
  const float* update;
  const uint8_t* mask;
  void* y;
  int64_t count;
  float scale;
};

/// A parameter with its gradient and states, flat. The moments are null for sgd.
struct UpdateTensor {
  void* parameter;
  const void* gradient;
  void* first_moment;
  void* second_moment;
  void* copy;  ///< adamw: receives the new parameter as well; null: none
  int64_t count;
  float decay;  ///< adamw: the parameter is multiplied by it first; sgd: times the parameter, added to the gradient
};

/// See AdamwArguments of the CPU kernels; sgd uses `step_size` and `rule` alone.
struct UpdateScalars {
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float eps;
  float step_size;
  float inverse_correction2;
  bool first_step;
  PlainRule rule;  ///< its statistics are memory of the device
};

/// As many tensors as fit into the arguments of one launch (4 KiB); a block works on a stretch of one of them.
struct TensorList {
  static constexpr int kTensors = 64;
  static constexpr int64_t kStretch = 8192;  ///< elements

  UpdateTensor tensors[kTensors];
  int first_block[kTensors + 1];  ///< of each tensor, and after the last
  int size;
};

}  // namespace assay::engine::cuda
