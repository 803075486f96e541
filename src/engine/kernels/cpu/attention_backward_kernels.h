// Backward of the blocked attention. Scores are made transposed, [keys, queries]: the softmax statistics are then one
// vector for all keys, and probabilities and their gradients come out as the left operands that the value and key
// gradients need. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/attention_kernels.h"

namespace assay::engine::ASSAY_ISA {

/// Keys and values of one head and the float32 sums of their gradients.
template <typename E>
struct KeySide {
  E* keys;         // rows [length, padded head]
  E* values;       // rows
  E* keys_across;  // per block [padded head, kBlock]
  float* grad_keys;
  float* grad_values;
};

/// One block of queries, packed for every product that it takes part in.
template <typename E>
struct QuerySide {
  E* queries;         // rows of the whole head
  E* grads;           // rows of the whole head
  E* queries_across;  // [padded head, kBlock]
  E* grads_across;
  E* queries_summed;  // right operand that sums over queries
  E* grads_summed;
  float* grad_queries_across;  // [padded head, kBlock]
  float* grad_queries;         // [kBlock, padded head]
  float log_sum_exp[kBlock];
  float delta[kBlock];  // sum over the head of grad_out * out
};

/// Scratch of one query block and a group of up to kBackwardKeyBlocks key blocks.
template <typename E>
struct PairScratch {
  float* scores;
  float* grads;
  E* probabilities;       // [keys, queries], left operand
  E* grad_scores;         // the same
  E* grad_scores_summed;  // right operand that sums over keys
};

template <typename E>
PairScratch<E> take_pair(Arena& arena) {
  constexpr int64_t kPair = kBackwardKeyBlocks * kBlock * kBlock;
  PairScratch<E> p;
  p.scores = arena.take<float>(kPair);
  p.grads = arena.take<float>(kPair);
  p.probabilities = arena.take<E>(kPair);
  p.grad_scores = arena.take<E>(kPair);
  p.grad_scores_summed = arena.take<E>(kPair);
  return p;
}

/// Stores two neighbouring keys' gradients as left operand rows and as the right operand that sums over keys.
inline void store_grad_pair(F32 even, F32 odd, float* left_even, float* left_odd, float* right, int64_t offset) {
  store(left_even + offset, even);
  store(left_odd + offset, odd);
  store(right + offset, even);
  store(right + kBlock + offset, odd);
}

inline void store_grad_pair(F32 even, F32 odd, Bf16* left_even, Bf16* left_odd, Bf16* right, int64_t offset) {
  const U16 low = to_bf16_bits(even);
  const U16 high = to_bf16_bits(odd);
  __builtin_memcpy(left_even + offset, &low, sizeof(low));
  __builtin_memcpy(left_odd + offset, &high, sizeof(high));
  const U32 both = __builtin_convertvector(low, U32) | (__builtin_convertvector(high, U32) << 16);
  __builtin_memcpy(right + 2 * offset, &both, sizeof(both));
}

/// Queries (as lanes) of the pair that may look at a key, relative to the block's first query.
struct QueryLimits {
  int64_t low;
  int64_t high;
};

inline QueryLimits queries_of_key(const AttentionGroup& g, int64_t key, int64_t first_query) {
  if (!g.causal) {
    return {0, key < g.length ? kBlock : 0};
  }
  const int64_t last = g.window > 0 ? key + g.window : first_query + kBlock;
  return {clamp(key - first_query, 0, kBlock), clamp(last - first_query, 0, kBlock)};
}

/// From scores and output-probability gradients of `keys` keys (an even number) and `queries` queries to probabilities
/// and score gradients.
template <typename E>
void pair_gradients(const AttentionGroup& g, const QuerySide<E>& q, int64_t first_key, int64_t keys,
                    int64_t first_query, int64_t queries, const PairScratch<E>& p) {
  const auto probability = [&](int64_t key, int64_t offset) {
    const QueryLimits limits = queries_of_key(g, first_key + key, first_query);
    const F32 value = exp(load(p.scores + key * kBlock + offset) * g.scale - load(q.log_sum_exp + offset));
    return lanes_within(offset, limits.low, limits.high) ? value : F32{};
  };
  const auto gradient = [&](F32 value, int64_t key, int64_t offset) {
    return value * (load(p.grads + key * kBlock + offset) - load(q.delta + offset)) * g.scale;
  };
  for (int64_t key = 0; key < keys; key += 2) {
    E* left = p.grad_scores + key * kBlock;
    for (int64_t offset = 0; offset < queries; offset += kLanes) {
      const F32 even = probability(key, offset);
      const F32 odd = probability(key + 1, offset);
      store(p.probabilities + key * kBlock + offset, even);
      store(p.probabilities + (key + 1) * kBlock + offset, odd);
      store_grad_pair(gradient(even, key, offset), gradient(odd, key + 1, offset), left, left + kBlock,
                      p.grad_scores_summed + key * kBlock, offset);
    }
  }
}

/// Adds what the query block and the key blocks of `range` give to each other's gradients. The first range of a query
/// block starts its gradient.
template <typename E>
void backward_range(const AttentionGroup& g, const KeySide<E>& k, const QuerySide<E>& q, BlockRange range,
                    int64_t query_block, bool first, const PairScratch<E>& p) {
  const int64_t width = padded_head(g.head_dim);
  const int64_t at = range.begin * kBlock * width;
  const int64_t keys = real_vectors(g, range.begin, (range.end - range.begin) * kBlock);
  const int64_t queries = real_vectors(g, query_block);
  const BlockProduct product = product_for(g, k.keys);
  product(keys, queries, width, width, kBlock, kBlock, false, k.keys + at, q.queries_across, p.scores);
  product(keys, queries, width, width, kBlock, kBlock, false, k.values + at, q.grads_across, p.grads);
  pair_gradients(g, q, range.begin * kBlock, keys, query_block * kBlock, queries, p);
  product(keys, width, queries, kBlock, width, width, true, p.probabilities, q.grads_summed, k.grad_values + at);
  product(keys, width, queries, kBlock, width, width, true, p.grad_scores, q.queries_summed, k.grad_keys + at);
  for (int64_t key_block = range.begin; key_block < range.end; ++key_block) {
    product(width, queries, real_vectors(g, key_block), kBlock, kBlock, kBlock, !first || key_block > range.begin,
            k.keys_across + key_block * kBlock * width,
            p.grad_scores_summed + (key_block - range.begin) * kBlock * kBlock, q.grad_queries_across);
  }
}

/// Softmax statistics of a query block. Padded queries get a log-sum-exp that makes their probabilities vanish.
template <typename T, typename E>
void load_statistics(const AttentionBackward& a, int64_t head, int64_t first, QuerySide<E>& q) {
  const AttentionGroup& g = a.group;
  for (int64_t i = 0; i < kBlock; ++i) {
    const bool real = first + i < g.length;
    q.log_sum_exp[i] = real ? a.log_sum_exp[head * a.lse_stride + first + i] : 3.0e38F;
    q.delta[i] = 0.0F;
    if (real) {
      const int64_t offset = (first + i) * g.query_stride + head * g.head_dim;
      F32 total{};
      for_vectors(g.head_dim, [&](int64_t d, auto lanes) {
        total += load_lanes(static_cast<const T*>(a.grad_out) + offset + d, lanes) *
                 load_lanes(static_cast<const T*>(a.out) + offset + d, lanes);
      });
      q.delta[i] = sum(total);
    }
  }
}

template <typename E>
void pack_query_block(const AttentionGroup& g, int64_t query_block, QuerySide<E>& q) {
  const int64_t width = padded_head(g.head_dim);
  const int64_t at = query_block * kBlock * width;
  pack_transposed(q.queries + at, width, q.queries_across);
  pack_transposed(q.grads + at, width, q.grads_across);
  q.queries_summed = const_cast<E*>(pack_summed_rows(q.queries + at, width, q.queries_summed));
  q.grads_summed = const_cast<E*>(pack_summed_rows(q.grads + at, width, q.grads_summed));
}

template <typename T, typename E>
void backward_query_block(const AttentionBackward& a, int64_t head, int64_t query_block, const KeySide<E>& k,
                          QuerySide<E>& q, const PairScratch<E>& p) {
  const AttentionGroup& g = a.group;
  const int64_t width = padded_head(g.head_dim);
  const int64_t first = query_block * kBlock;
  pack_query_block(g, query_block, q);
  load_statistics<T>(a, head, first, q);
  const BlockRange visible = visible_blocks(g, query_block);
  for (int64_t begin = visible.begin; begin < visible.end; begin += kBackwardKeyBlocks) {
    const BlockRange range{begin, clamp(begin + kBackwardKeyBlocks, begin, visible.end)};
    backward_range(g, k, q, range, query_block, begin == visible.begin, p);
  }
  for (int64_t i = 0; i < kBlock; ++i) {
    for (int64_t d = 0; d < width; ++d) {
      q.grad_queries[i * width + d] = q.grad_queries_across[d * kBlock + i];
    }
  }
  unpack_rows(g, q.grad_queries, first, clamp(g.length - first, 0, kBlock), true,
              static_cast<T*>(a.grad_q) + head * g.head_dim, g.query_stride);
}

template <typename T, typename E>
KeySide<E> take_key_side(const AttentionBackward& a, Arena& arena) {
  const AttentionGroup& g = a.group;
  const int64_t width = padded_head(g.head_dim);
  const int64_t elements = padded_length(g.length) * width;
  KeySide<E> k{arena.take<E>(elements), arena.take<E>(elements), arena.take<E>(elements), arena.take<float>(elements),
               arena.take<float>(elements)};
  pack_rows(g, Head<T>{static_cast<const T*>(a.k), g.key_stride}, true, k.keys);
  pack_rows(g, Head<T>{static_cast<const T*>(a.v), g.key_stride}, false, k.values);
  for (int64_t at = 0; at < elements; at += kBlock * width) {
    transpose_block(k.keys + at, width, k.keys_across + at);
  }
  clear(k.grad_keys, elements * static_cast<int64_t>(sizeof(float)));
  clear(k.grad_values, elements * static_cast<int64_t>(sizeof(float)));
  return k;
}

template <typename E>
QuerySide<E> take_query_side(const AttentionGroup& g, Arena& arena) {
  const int64_t width = padded_head(g.head_dim);
  const int64_t elements = padded_length(g.length) * width;
  QuerySide<E> q;
  q.queries = arena.take<E>(elements);
  q.grads = arena.take<E>(elements);
  q.queries_across = arena.take<E>(kBlock * width);
  q.grads_across = arena.take<E>(kBlock * width);
  q.queries_summed = arena.take<E>(kBlock * width);
  q.grads_summed = arena.take<E>(kBlock * width);
  q.grad_queries_across = arena.take<float>(kBlock * width);
  q.grad_queries = arena.take<float>(kBlock * width);
  return q;
}

template <typename T, typename E>
void attention_backward_in(const AttentionBackward& a) {
  const AttentionGroup& g = a.group;
  Arena arena(g.scratch);
  const KeySide<E> k = take_key_side<T, E>(a, arena);
  QuerySide<E> q = take_query_side<E>(g, arena);
  const PairScratch<E> p = take_pair<E>(arena);
  const int64_t blocks = padded_length(g.length) / kBlock;
  for (int64_t head = 0; head < g.heads; ++head) {
    const int64_t offset = head * g.head_dim;
    pack_rows(g, Head<T>{static_cast<const T*>(a.q) + offset, g.query_stride}, true, q.queries);
    pack_rows(g, Head<T>{static_cast<const T*>(a.grad_out) + offset, g.query_stride}, false, q.grads);
    for (int64_t query_block = 0; query_block < blocks; ++query_block) {
      backward_query_block<T>(a, head, query_block, k, q, p);
    }
  }
  unpack_rows(g, k.grad_keys, 0, g.length, true, static_cast<T*>(a.grad_k), g.key_stride);
  unpack_rows(g, k.grad_values, 0, g.length, false, static_cast<T*>(a.grad_v), g.key_stride);
}

template <typename T>
void attention_backward(const AttentionBackward& a) {
  attention_backward_in<T, float>(a);
}
template <>
inline void attention_backward<Bf16>(const AttentionBackward& a) {
  a.group.bf16_product != nullptr ? attention_backward_in<Bf16, Bf16>(a) : attention_backward_in<Bf16, float>(a);
}

}  // namespace assay::engine::ASSAY_ISA
