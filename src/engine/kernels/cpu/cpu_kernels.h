// The table of CPU kernels: plain functions over raw memory, built once per instruction set from one source.
//
// A kernel works on a range of rows or elements and does not start threads; its caller splits the work. `void*` is
// memory of the dtype that the table's slot stands for. Ranges are [begin, end).
#pragma once

#include <cstdint>

#include "engine/kernels/dropout_mask.h"

namespace assay::engine {

/// y = weight * round(x / rms(x)), with x = residual + multiplier * block when `block` is given (then `sum` receives
/// x).
struct NormForward {
  const void* x;
  const void* block;  ///< null: plain norm of x
  const void* weight;
  void* sum;
  void* y;
  float* inverse_rms;
  int64_t width;
  float eps;
  float multiplier;
};

/// Gradient of the norm of x, plus `extra` (null: none), into `grad_x`; multiplied by `multiplier` into `grad_block`
/// (null: not wanted). `grad_weight` (null: not wanted) is added to, one float32 row of `width`.
struct NormBackward {
  const void* grad_y;
  const void* extra;
  const void* x;
  const void* weight;
  const float* inverse_rms;
  void* grad_x;
  void* grad_block;
  int64_t width;
  float multiplier;
};

/// y = (x - mean) / sqrt(variance + eps) * weight + bias, with x = residual + block when `block` is given (then `sum`
/// receives x). x and sum are of the residual stream's dtype, block and y of the slot's.
struct LayerNormForward {
  const void* x;
  const void* block;  ///< null: plain norm of x
  const float* weight;
  const float* bias;
  void* sum;
  void* y;
  float* mean;               ///< one of each row
  float* inverse_deviation;  ///< 1 / sqrt(variance + eps), one of each row
  int64_t width;
  float eps;
};

/// Gradient of the layer norm of x, plus `extra` (null: none), into `grad_x`, and rounded to the slot's dtype into
/// `grad_block` (null: not wanted). The gradients of weight and bias (null: not wanted) are added to.
struct LayerNormBackward {
  const void* grad_y;
  const void* extra;
  const void* x;
  const float* weight;
  const float* mean;
  const float* inverse_deviation;
  void* grad_x;
  void* grad_block;
  int64_t width;
};

struct SwigluBackward {
  const void* grad_y;
  const void* gate;
  const void* up;
  void* grad_gate;
  void* grad_up;
};

struct AdamwArguments {
  void* parameter;
  const void* gradient;
  void* first_moment;
  void* second_moment;
  void* copy;             ///< receives the new parameter as well; null: none
  float one_minus_beta1;  ///< taken in float64 before rounding: 1 - 0.999 in float32 is off by 5e-5
  float beta2;
  float one_minus_beta2;
  float eps;
  float decay_factor;         ///< parameters are multiplied by this first
  float step_size;            ///< learning rate / (1 - beta1^step)
  float inverse_correction2;  ///< 1 / sqrt(1 - beta2^step)
  float gradient_scale;
  bool first_step;  ///< the moments count as 0 and are not read
};

/// Of a range of gradients.
struct GradientSums {
  double squares;
  double non_finite;  ///< elements that are infinite or not a number
};

struct SgdArguments {
  void* parameter;
  const void* gradient;
  float learning_rate;
  float weight_decay;
  float gradient_scale;
};

/// A tall matrix of the slot's dtype, and optionally a dropout mask over it: elements whose byte is 0 count as 0, the
/// others are multiplied by `keep_scale`.
struct TallMatrix {
  const void* data;
  const uint8_t* mask;  ///< null: none
  int64_t width;
  float keep_scale;
};

/// C (+)= A B for a small block, row-major with leading dimensions, C in float32. `b` of a bfloat16 product is
/// interleaved in pairs of rows: [k / 2][n][2].
using BlockProduct = void (*)(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, bool add,
                              const void* a, const void* b, float* c);

/// Attention of the query heads that share one key/value head, within one row of `length` tokens. Pointers are
/// at the row's first token and the head group's first element; strides are in elements from token to token.
struct AttentionGroup {
  int64_t length;
  int64_t head_dim;
  int64_t heads;   ///< query heads in the group, next to each other
  bool causal;     ///< a query sees its own and earlier keys; else all of the row
  int64_t window;  ///< 0: none; only with `causal`
  float scale;
  int64_t query_stride;
  int64_t key_stride;
  const float* cosine;  ///< [length, head_dim / 2], rounded to the tensors' dtype; null: no rotation
  const float* sine;
  BlockProduct bf16_product;  ///< null: products are done in float32
  void* scratch;              ///< attention_*_scratch_bytes() bytes, 64-byte aligned
};

struct AttentionForward {
  AttentionGroup group;
  const void* q;
  const void* k;
  const void* v;
  void* out;           ///< strides as q
  float* log_sum_exp;  ///< [heads, lse_stride]
  int64_t lse_stride;
};

struct AttentionBackward {
  AttentionGroup group;
  const void* q;
  const void* k;
  const void* v;
  const void* out;
  const void* grad_out;
  const float* log_sum_exp;
  int64_t lse_stride;
  void* grad_q;
  void* grad_k;
  void* grad_v;
};

/// Kernels for tensors of one dtype.
struct TypedKernels {
  void (*norm_forward)(const NormForward&, int64_t begin, int64_t end);
  void (*norm_backward)(const NormBackward&, float* grad_weight, int64_t begin, int64_t end);
  void (*layer_norm_forward)(const LayerNormForward&, int64_t begin, int64_t end);
  void (*layer_norm_backward)(const LayerNormBackward&, float* grad_weight, float* grad_bias, int64_t begin,
                              int64_t end);
  /// The same beside a residual stream in float32.
  void (*layer_norm_forward_wide)(const LayerNormForward&, int64_t begin, int64_t end);
  void (*layer_norm_backward_wide)(const LayerNormBackward&, float* grad_weight, float* grad_bias, int64_t begin,
                                   int64_t end);
  void (*gelu_forward)(const void* x, void* y, bool tanh_form, int64_t begin, int64_t end);
  void (*gelu_backward)(const void* grad_y, const void* x, void* grad_x, bool tanh_form, int64_t begin, int64_t end);
  void (*swiglu_forward)(const void* gate, const void* up, void* y, int64_t begin, int64_t end);
  void (*swiglu_backward)(const SwigluBackward&, int64_t begin, int64_t end);
  /// out = a + multiplier * b; `a` may be null (out = multiplier * b).
  void (*add_scaled)(const void* a, const void* b, float multiplier, void* out, int64_t begin, int64_t end);
  /// Rows [begin, end) of `out` from the rows of `table` that `ids` names.
  void (*gather_rows)(const void* table, const int64_t* ids, float multiplier, void* out, int64_t width, int64_t begin,
                      int64_t end);
  /// out = multiplier * (sum of the rows of `rows` that indices[0, count) name), summed in float32 in that order.
  void (*sum_rows)(const void* rows, const int64_t* indices, int64_t count, float multiplier, void* out, int64_t width);
  /// Cross-entropy of one row of logits; unless `gradient` is 0 the row becomes (softmax - one_hot) * gradient /
  /// divisor.
  float (*cross_entropy_row)(void* logits, int64_t width, int64_t target, float divisor, float gradient,
                             float smoothing);
  void (*adamw)(const AdamwArguments&, int64_t begin, int64_t end);                ///< states of the same dtype
  void (*adamw_wide_states)(const AdamwArguments&, int64_t begin, int64_t end);    ///< states in float32
  void (*adamw_wide_gradient)(const AdamwArguments&, int64_t begin, int64_t end);  ///< the gradient in float32
  /// Parameter and states in float32; the copy of this dtype, and the gradient too, or else in float32.
  void (*adamw_master)(const AdamwArguments&, int64_t begin, int64_t end);
  void (*adamw_master_wide_gradient)(const AdamwArguments&, int64_t begin, int64_t end);
  void (*sgd)(const SgdArguments&, int64_t begin, int64_t end);
  GradientSums (*gradient_sums)(const void* x, int64_t begin, int64_t end);
  /// sums[i] += the sum of column i over the rows [begin, end) of y.
  void (*column_sums)(const void* y, int64_t width, float* sums, int64_t begin, int64_t end);
  void (*to_float32)(const void* x, float* out, int64_t begin, int64_t end);
  void (*from_float32)(const float* x, void* out, int64_t begin, int64_t end);
  /// low[t, j] = scale * sum_i x[t, i] * a[j, i], for rows t of x and all `rank` rows of a.
  void (*project_down)(const TallMatrix& x, const float* a, int64_t rank, float scale, float* low, int64_t begin,
                       int64_t end);
  /// y[t, i] += sum_j low[t, j] * a[j, i], rounded once; the mask, where given, applies to the sum.
  void (*project_up)(const float* low, const float* a, int64_t rank, float scale, const TallMatrix& y, int64_t begin,
                     int64_t end);
  /// out[j, i] = scale * sum_t low[t, j] * x[t, i] for columns i in [begin, end) and all `rows` rows t.
  void (*outer_sum)(const float* low, const TallMatrix& x, int64_t rows, int64_t rank, float scale, float* out,
                    int64_t begin, int64_t end);
  void (*attention_forward)(const AttentionForward&);
  void (*attention_backward)(const AttentionBackward&);
};

enum class CpuDtype { kFloat32, kBfloat16, kFloat16 };

struct CpuKernels {
  const char* isa;
  TypedKernels typed[3];         ///< indexed by CpuDtype
  BlockProduct float32_product;  ///< n must be a multiple of 16
  void (*dropout_mask)(const DropoutMaskTask&, int64_t begin, int64_t end);

  const TypedKernels& of(CpuDtype dtype) const { return typed[static_cast<int>(dtype)]; }
};

/// The kernels for this processor: the best instruction set that it has, or a lower one when the environment variable
/// ASSAY_CPU_ISA names it (portable, avx2, avx512, avx512bf16). Decided on the first call, by op_table.cc.
const CpuKernels& cpu_kernels();

/// Kernels that read and write nothing, for tensors without storage of any dtype.
const TypedKernels& loops_without_work();

/// Makes cpu_kernels() return another table that this processor can run, for tests; false when it cannot.
bool force_cpu_isa(const char* isa);

/// Whether 16-bit block products through oneDNN run on instructions made for them here (AVX512_BF16 or AMX).
bool has_native_bf16_products();

/// Whether libtorch's matrix products of these dtypes run on oneDNN's generated code on this processor; false where a
/// lower instruction set was asked for.
bool has_fast_bfloat16_matmul();
bool has_fast_float16_matmul();

namespace portable {
extern const CpuKernels kKernels;
}
namespace avx2 {
extern const CpuKernels kKernels;
}
namespace avx512 {
extern const CpuKernels kKernels;
}
namespace avx512bf16 {
extern const CpuKernels kKernels;
}

}  // namespace assay::engine
