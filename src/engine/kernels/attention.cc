#include <c10/util/Exception.h>

#include "engine/kernels/op_table.h"
#include "engine/kernels/ops.h"

namespace assay::engine {

at::Tensor attention(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                     const PackedBatch& batch, const RotaryTable* rotary, const AttentionOptions& options,
                     KeptAttention* kept) {
  TORCH_CHECK(options.causal || options.sliding_window == 0, "attention: a sliding window of ", options.sliding_window,
              " goes with causal attention only");
  const bool rotates_pairs = rotary == nullptr || options.head_dim % 2 == 0;
  return operations_if(rotates_pairs && options.dropout == 0.0, q_TND)
      .attention(q_TND, k_TKD, v_TKD, batch, rotary, options, kept);
}

}  // namespace assay::engine
