#include <ATen/ATen.h>
#include <ATen/Context.h>

#include <optional>

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/cuda/device.h"
#include "engine/kernels/cuda/ops.h"

namespace assay::engine::cuda {
namespace {

/// What libtorch's flash attention can do.
constexpr int kLeastComputeCapability = 8;
constexpr int64_t kMostHeadDim = 256;
constexpr int64_t kHeadDimStep = 8;

/// While it lives libtorch's operations sum in an order that does not change from run to run.
class DeterministicAlgorithms {
 public:
  DeterministicAlgorithms() {
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
    // Else every new tensor would be filled as well.
    at::globalContext().setDeterministicFillUninitializedMemory(false);
  }
  ~DeterministicAlgorithms() {
    at::globalContext().setDeterministicAlgorithms(on_, warn_only_);
    at::globalContext().setDeterministicFillUninitializedMemory(fill_);
  }
  DeterministicAlgorithms(const DeterministicAlgorithms&) = delete;
  DeterministicAlgorithms& operator=(const DeterministicAlgorithms&) = delete;

 private:
  bool on_ = at::globalContext().deterministicAlgorithms();
  bool warn_only_ = at::globalContext().deterministicAlgorithmsWarnOnly();
  bool fill_ = at::globalContext().deterministicFillUninitializedMemory();
};

struct Rotation : torch::autograd::Function<Rotation> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x_TND, const at::Tensor& cos_PD2,
                            const at::Tensor& sin_PD2, const at::Tensor& positions_T) {
    ctx->save_for_backward({cos_PD2, sin_PD2, positions_T});
    return operations(x_TND).rotate(x_TND.contiguous(), {cos_PD2, sin_PD2}, positions_T, /*inverse=*/false);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor grad_TND = grads[0].contiguous();
    return {operations(grad_TND).rotate(grad_TND, {saved[0], saved[1]}, saved[2], /*inverse=*/true), {}, {}, {}};
  }
};

at::Tensor rotated(const at::Tensor& x_TND, const RotaryTable* rotary, const PackedBatch& batch) {
  if (rotary == nullptr) {
    return x_TND;
  }
  TORCH_CHECK(rotary->cos_PD2.size(0) >= batch.longest_row, "attention: a row of ", batch.longest_row,
              " tokens is longer than the rotary table of ", rotary->cos_PD2.size(0), " positions");
  return Rotation::apply(x_TND, rotary->cos_PD2.contiguous(), rotary->sin_PD2.contiguous(),
                         batch.positions_T.contiguous());
}

/// Where rows begin and how far a query looks; the same in forward and backward.
struct Span {
  at::Tensor row_offsets_R1;
  int64_t longest_row = 0;
  double scale = 0;
  int64_t window = 0;
  bool causal = true;

  /// Keys before a query's own; none set: all of them.
  std::optional<int64_t> left() const { return window > 0 ? std::optional<int64_t>(window - 1) : std::nullopt; }
  std::optional<int64_t> right() const { return window > 0 ? std::optional<int64_t>(0) : std::nullopt; }
};

/// Dao 2023, "FlashAttention-2", as libtorch ships it for rows of different lengths.
struct FlashAttention : torch::autograd::Function<FlashAttention> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q_TND, const at::Tensor& k_TKD,
                            const at::Tensor& v_TKD, const Span& span) {
    const auto [out_TND, log_sum_exp, random_state, unused, mask] = at::_flash_attention_forward(
        q_TND, k_TKD, v_TKD, span.row_offsets_R1, span.row_offsets_R1, span.longest_row, span.longest_row,
        /*dropout_p=*/0.0, span.causal, /*return_debug_mask=*/false, span.scale, span.left(), span.right());
    ctx->save_for_backward({q_TND, k_TKD, v_TKD, out_TND, log_sum_exp, random_state, unused, span.row_offsets_R1});
    ctx->saved_data["longest_row"] = span.longest_row;
    ctx->saved_data["scale"] = span.scale;
    ctx->saved_data["window"] = span.window;
    ctx->saved_data["causal"] = span.causal;
    return out_TND;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    const Span span{saved[7], ctx->saved_data["longest_row"].toInt(), ctx->saved_data["scale"].toDouble(),
                    ctx->saved_data["window"].toInt(), ctx->saved_data["causal"].toBool()};
    const DeterministicAlgorithms deterministic;
    const auto [grad_q, grad_k, grad_v] = at::_flash_attention_backward(
        grads[0].contiguous(), saved[0], saved[1], saved[2], saved[3], saved[4], span.row_offsets_R1,
        span.row_offsets_R1, span.longest_row, span.longest_row, /*dropout_p=*/0.0, span.causal, saved[5], saved[6],
        span.scale, span.left(), span.right());
    return {grad_q, grad_k, grad_v, {}};
  }
};

bool has_flash_attention(const at::Tensor& q_TND, const PackedBatch& batch, const AttentionOptions& options) {
  const bool sixteen_bits = q_TND.scalar_type() == at::kBFloat16 || q_TND.scalar_type() == at::kHalf;
  // Rows of one token each take a path of their own in libtorch's forward that its backward does not know.
  return q_TND.is_cuda() && sixteen_bits && options.head_dim % kHeadDimStep == 0 && options.head_dim <= kMostHeadDim &&
         batch.longest_row > 1 && compute_capability_major(q_TND.device()) >= kLeastComputeCapability;
}

}  // namespace

at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* kept) {
  if (!has_flash_attention(q_TND, batch, options)) {
    return reference::attention(q_TND, k_TKD, v_TKD, batch, rotary, options, kept);
  }
  const int64_t tokens = q_TND.size(0);
  const at::Tensor q = rotated(q_TND.view({tokens, options.query_heads, options.head_dim}), rotary, batch);
  const at::Tensor k = rotated(k_TKD.view({tokens, options.key_value_heads, options.head_dim}), rotary, batch);
  const at::Tensor v = v_TKD.view({tokens, options.key_value_heads, options.head_dim});
  const Span span{batch.row_offsets_R1, batch.longest_row, options.scale, options.sliding_window, options.causal};
  return FlashAttention::apply(q, k, v, span).view({tokens, options.query_heads * options.head_dim});
}

}  // namespace assay::engine::cuda
