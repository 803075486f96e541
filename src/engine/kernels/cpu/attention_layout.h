// How the attention kernels lay out their operands: blocks of kBlock tokens, the head dimension padded, and, for
// bfloat16 products, pairs of the summed index next to each other. Part of a per-instruction-set unit.
#pragma once

#include <cstddef>

#include "engine/kernels/cpu/attention_blocks.h"
#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/kernels/cpu/simd.h"

namespace assay::engine::ASSAY_ISA {

/// Hands out pieces of the scratch memory; each is aligned to a cache line.
class Arena {
 public:
  explicit Arena(void* memory) : next_(static_cast<char*>(memory)) {}

  template <typename E>
  E* take(int64_t count) {
    E* piece = reinterpret_cast<E*>(next_);
    next_ += round_up(count * static_cast<int64_t>(sizeof(E)), 64);
    return piece;
  }

 private:
  char* next_;
};

/// One head of a packed tensor: `data` is at its first token, `stride` elements lie between tokens.
template <typename T>
struct Head {
  const T* data;
  int64_t stride;
};

inline void clear(void* memory, int64_t bytes) {
  __builtin_memset(memory, 0, static_cast<size_t>(bytes));
}

/// Stores what T would hold: rounded to T first, unless storing does just that.
template <typename T, typename E, typename Lanes>
void store_as(E* p, F32 v, Lanes lanes) {
  if constexpr (__is_same(T, E)) {
    store_lanes(p, v, lanes);
  } else {
    store_lanes(p, round_to<T>(v), lanes);
  }
}

/// Rotates the pair (x[d], x[d + half]) of every position; products and sums are rounded to T where separate
/// operations of transformers would round them (the tables come rounded to T).
template <typename T, typename E>
void rotate_token(const T* x, const float* cosine, const float* sine, int64_t half, E* out) {
  for_vectors(half, [&](int64_t d, auto lanes) {
    const F32 c = load_lanes(cosine + d, lanes);
    const F32 s = load_lanes(sine + d, lanes);
    const F32 low = load_lanes(x + d, lanes);
    const F32 high = load_lanes(x + half + d, lanes);
    store_as<T>(out + d, round_to<T>(low * c) - round_to<T>(high * s), lanes);
    store_as<T>(out + half + d, round_to<T>(high * c) + round_to<T>(low * s), lanes);
  });
}

/// Undoes the rotation for a gradient held in float32.
template <typename T>
void unrotate_token(const float* gradient, const float* cosine, const float* sine, int64_t half, T* out) {
  for_vectors(half, [&](int64_t d, auto lanes) {
    const F32 c = load_lanes(cosine + d, lanes);
    const F32 s = load_lanes(sine + d, lanes);
    const F32 low = load_lanes(gradient + d, lanes);
    const F32 high = load_lanes(gradient + half + d, lanes);
    store_lanes(out + d, low * c + high * s, lanes);
    store_lanes(out + half + d, high * c - low * s, lanes);
  });
}

/// Tokens of one head as rows of E, rotated when `rotated`, zeros where the row or the head is padded.
template <typename T, typename E>
void pack_rows(const AttentionGroup& g, Head<T> head, bool rotated, E* out) {
  const int64_t width = padded_head(g.head_dim);
  const int64_t half = g.head_dim / 2;
  clear(out, padded_length(g.length) * width * static_cast<int64_t>(sizeof(E)));
  for (int64_t token = 0; token < g.length; ++token) {
    const T* source = head.data + token * head.stride;
    E* target = out + token * width;
    if (rotated && g.cosine != nullptr) {
      rotate_token(source, g.cosine + token * half, g.sine + token * half, half, target);
    } else {
      for_vectors(g.head_dim,
                  [&](int64_t d, auto lanes) { store_lanes(target + d, load_lanes(source + d, lanes), lanes); });
    }
  }
}

/// A block's gradient rows in float32 to tokens of the tensor; `count` tokens are real.
template <typename T>
void unpack_rows(const AttentionGroup& g, const float* rows, int64_t first_token, int64_t count, bool rotated, T* out,
                 int64_t stride) {
  const int64_t width = padded_head(g.head_dim);
  const int64_t half = g.head_dim / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t token = first_token + i;
    T* target = out + token * stride;
    const float* source = rows + i * width;
    if (rotated && g.cosine != nullptr) {
      unrotate_token(source, g.cosine + token * half, g.sine + token * half, half, target);
    } else {
      for_vectors(g.head_dim,
                  [&](int64_t d, auto lanes) { store_lanes(target + d, load_lanes(source + d, lanes), lanes); });
    }
  }
}

/// Right operand of a product that sums over the columns of `rows` [kBlock, width]: its transpose.
inline void pack_transposed(const float* rows, int64_t width, float* out) {
  for (int64_t d = 0; d < width; ++d) {
    for (int64_t n = 0; n < kBlock; ++n) {
      out[d * kBlock + n] = rows[n * width + d];
    }
  }
}

inline void pack_transposed(const Bf16* rows, int64_t width, Bf16* out) {
  const int64_t pairs = width / 2;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    for (int64_t n = 0; n < kBlock; ++n) {
      __builtin_memcpy(out + (pair * kBlock + n) * 2, rows + n * width + pair * 2, 2 * sizeof(Bf16));
    }
  }
}

/// Right operand of a product that sums over the rows of `rows` [kBlock, width].
inline const float* pack_summed_rows(const float* rows, int64_t, float*) {
  return rows;
}

inline const Bf16* pack_summed_rows(const Bf16* rows, int64_t width, Bf16* out) {
  for (int64_t n = 0; n < kBlock; n += 2) {
    const Bf16* even = rows + n * width;
    const Bf16* odd = even + width;
    Bf16* target = out + n * width;
    for (int64_t d = 0; d < width; ++d) {
      target[2 * d] = even[d];
      target[2 * d + 1] = odd[d];
    }
  }
  return out;
}

/// Left operand with rows and columns exchanged: [width, kBlock] from [kBlock, width].
template <typename E>
void transpose_block(const E* rows, int64_t width, E* out) {
  for (int64_t d = 0; d < width; ++d) {
    for (int64_t n = 0; n < kBlock; ++n) {
      out[d * kBlock + n] = rows[n * width + d];
    }
  }
}

inline int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : (x > high ? high : x);
}

/// Tokens from block `block` on that are there, at most `most`: what lies beyond takes no part in a product.
inline int64_t real_tokens(const AttentionGroup& g, int64_t block, int64_t most = kBlock) {
  return clamp(g.length - block * kBlock, 0, most);
}

/// The same in whole vectors: where an index is summed over, or is the fastest of a result. Operands are zero, or their
/// partners in the product are, at the tokens that this adds.
inline int64_t real_vectors(const AttentionGroup& g, int64_t block, int64_t most = kBlock) {
  constexpr int64_t kVector = 16;
  return round_up(real_tokens(g, block, most), kVector);
}

/// Keys that the queries of block `query_block` can see, as a range of blocks.
struct BlockRange {
  int64_t begin;
  int64_t end;
};

inline BlockRange visible_blocks(const AttentionGroup& g, int64_t query_block) {
  const int64_t first = query_block * kBlock - g.window + 1;
  const int64_t begin = g.window > 0 && first > 0 ? first / kBlock : 0;
  return {begin, g.causal ? query_block + 1 : padded_length(g.length) / kBlock};
}

}  // namespace assay::engine::ASSAY_ISA
