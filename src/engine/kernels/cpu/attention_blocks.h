// Block sizes of the attention kernels and the scratch memory that follows from them.
#pragma once

#include <cstdint>

namespace assay::engine {

/// Tokens in a block of queries or keys.
inline constexpr int64_t kBlock = 64;
/// Key blocks that a query block meets between two updates of its running softmax.
inline constexpr int64_t kKeyBlocks = 8;

/// Key blocks that backward multiplies in one product.
inline constexpr int64_t kBackwardKeyBlocks = 4;

constexpr int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}
constexpr int64_t padded_head(int64_t head_dim) {
  return round_up(head_dim, 32);
}
constexpr int64_t padded_length(int64_t length) {
  return round_up(length, kBlock);
}

/// Room for the rounding of every piece of scratch up to a cache line.
inline constexpr int64_t kScratchSlackBytes = 4096;

/// Scratch for one call of attention_forward: 3 operands of the row's size, scores and probabilities, an output block.
constexpr int64_t attention_forward_scratch_bytes(int64_t length, int64_t head_dim) {
  const int64_t width = padded_head(head_dim);
  const int64_t floats = 3 * padded_length(length) * width + 2 * kBlock * kKeyBlocks * kBlock + kBlock * width;
  return floats * static_cast<int64_t>(sizeof(float)) + kScratchSlackBytes;
}

/// Scratch for one call of attention_backward: 7 operands of the row's size, 6 query blocks, 5 groups of
/// block pairs.
constexpr int64_t attention_backward_scratch_bytes(int64_t length, int64_t head_dim) {
  const int64_t width = padded_head(head_dim);
  const int64_t floats =
      7 * padded_length(length) * width + 6 * kBlock * width + 5 * kBackwardKeyBlocks * kBlock * kBlock;
  return floats * static_cast<int64_t>(sizeof(float)) + kScratchSlackBytes;
}

}  // namespace assay::engine
