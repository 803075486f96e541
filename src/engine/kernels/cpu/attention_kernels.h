// Attention in blocks, forward and backward: FlashAttention-2 (Dao 2023) with scores recomputed in backward.
// T is the dtype of the tensors, E that of the block products' operands. Part of a per-instruction-set unit.
#pragma once

#include "engine/kernels/cpu/attention_layout.h"
#include "engine/kernels/cpu/block_product.h"

namespace assay::engine::ASSAY_ISA {

inline BlockProduct product_for(const AttentionGroup&, const float*) {
  return float32_product;
}
inline BlockProduct product_for(const AttentionGroup& g, const Bf16*) {
  return g.bf16_product;
}

/// The state of one query block in forward: scores, probabilities, running softmax and output.
template <typename E>
struct QueryBlock {
  float* scores;     // [kBlock, kKeyBlocks * kBlock]
  E* probabilities;  // the same
  float* output;     // [kBlock, padded head]
  float maximum[kBlock];
  float total[kBlock];
};

/// Lanes of a vector at `offset` that lie in [low, high).
inline I32 lanes_within(int64_t offset, int64_t low, int64_t high) {
  const I32 index = lane_numbers() + static_cast<int32_t>(offset);
  return (index >= static_cast<int32_t>(low)) & (index < static_cast<int32_t>(high));
}

/// Softmax of one query over the keys in [low, high) of a stretch of `width` scores, continuing the running one.
/// Returns the factor that what was summed before must be multiplied by.
template <typename E>
float softmax_row(const float* scores, E* probabilities, int64_t low, int64_t high, int64_t width, float scale,
                  float& maximum, float& total) {
  const int64_t begin = low / kLanes * kLanes;
  const int64_t end = round_up(high, kLanes);
  F32 best = broadcast(maximum);
  for (int64_t i = begin; i < end; i += kLanes) {
    best = lanes_within(i, low, high) ? max(best, load(scores + i) * scale) : best;
  }
  const float new_maximum = max_lane(best);
  const float factor = maximum == new_maximum ? 1.0F : exp(broadcast(maximum - new_maximum))[0];
  clear(probabilities, begin * static_cast<int64_t>(sizeof(E)));
  F32 sums{};
  for (int64_t i = begin; i < end; i += kLanes) {
    const F32 p = lanes_within(i, low, high) ? exp(load(scores + i) * scale - new_maximum) : F32{};
    sums += p;
    store(probabilities + i, p);
  }
  clear(probabilities + end, (width - end) * static_cast<int64_t>(sizeof(E)));
  maximum = new_maximum;
  total = total * factor + sum(sums);
  return factor;
}

/// Softmax of a query block over the key blocks [range.begin, range.end), whose scores are in place.
template <typename E>
void softmax_block(const AttentionGroup& g, int64_t query_block, BlockRange range, QueryBlock<E>& block) {
  const int64_t first_key = range.begin * kBlock;
  const int64_t width = (range.end - range.begin) * kBlock;
  const int64_t padded = padded_head(g.head_dim);
  for (int64_t i = 0; i < real_tokens(g, query_block); ++i) {
    const int64_t query = query_block * kBlock + i;
    const int64_t lowest = g.window > 0 ? query + 1 - g.window : 0;
    const int64_t low = clamp(lowest - first_key, 0, width);
    const int64_t end = g.causal ? query + 1 : g.length;
    const int64_t high = clamp(end - first_key, low, width);
    E* probabilities = block.probabilities + i * kKeyBlocks * kBlock;
    const float factor = softmax_row(block.scores + i * kKeyBlocks * kBlock, probabilities, low, high, width, g.scale,
                                     block.maximum[i], block.total[i]);
    if (factor != 1.0F && range.begin > 0) {
      float* output = block.output + i * padded;
      for_vectors(padded, [&](int64_t d, auto lanes) {
        store_lanes(output + d, load_lanes(output + d, lanes) * factor, lanes);
      });
    }
  }
}

/// Keys and values of one head, packed for the forward products.
template <typename E>
struct ForwardOperands {
  const E* keys;    // per block [padded head, kBlock]
  const E* values;  // per block [kBlock, padded head]
};

template <typename E>
void attend_query_block(const AttentionGroup& g, const E* queries, int64_t query_block,
                        const ForwardOperands<E>& operands, QueryBlock<E>& block) {
  const int64_t padded = padded_head(g.head_dim);
  const int64_t block_elements = kBlock * padded;
  const BlockProduct product = product_for(g, queries);
  const BlockRange visible = visible_blocks(g, query_block);
  const int64_t rows = real_tokens(g, query_block);
  clear(block.output, block_elements * static_cast<int64_t>(sizeof(float)));
  for (int64_t i = 0; i < kBlock; ++i) {
    block.maximum[i] = -__FLT_MAX__;  // finite, so that a score of minus infinity has a distance to it
    block.total[i] = 0.0F;
  }
  for (int64_t begin = visible.begin; begin < visible.end; begin += kKeyBlocks) {
    const BlockRange range{begin, clamp(begin + kKeyBlocks, begin, visible.end)};
    for (int64_t key_block = range.begin; key_block < range.end; ++key_block) {
      product(rows, real_vectors(g, key_block), padded, padded, kBlock, kKeyBlocks * kBlock, false,
              queries + query_block * block_elements, operands.keys + key_block * block_elements,
              block.scores + (key_block - begin) * kBlock);
    }
    softmax_block(g, query_block, range, block);
    for (int64_t key_block = range.begin; key_block < range.end; ++key_block) {
      product(rows, padded, real_vectors(g, key_block), kKeyBlocks * kBlock, padded, padded, true,
              block.probabilities + (key_block - begin) * kBlock, operands.values + key_block * block_elements,
              block.output);
    }
  }
}

template <typename T, typename E>
void store_query_block(const AttentionForward& a, int64_t head, int64_t query_block, const QueryBlock<E>& block) {
  const AttentionGroup& g = a.group;
  const int64_t first = query_block * kBlock;
  const int64_t count = clamp(g.length - first, 0, kBlock);
  const int64_t padded = padded_head(g.head_dim);
  for (int64_t i = 0; i < count; ++i) {
    T* out = static_cast<T*>(a.out) + (first + i) * g.query_stride + head * g.head_dim;
    const float* output = block.output + i * padded;
    // As in libtorch, a query whose scores are all minus infinity attends to nothing.
    const bool nothing = block.total[i] == 0.0F;
    const float inverse = nothing ? 0.0F : 1.0F / block.total[i];
    for_vectors(g.head_dim,
                [&](int64_t d, auto lanes) { store_lanes(out + d, load_lanes(output + d, lanes) * inverse, lanes); });
    a.log_sum_exp[head * a.lse_stride + first + i] = nothing ? 0.0F : block.maximum[i] + __builtin_logf(block.total[i]);
  }
}

template <typename T, typename E>
void attention_forward_in(const AttentionForward& a) {
  const AttentionGroup& g = a.group;
  const int64_t padded = padded_head(g.head_dim);
  const int64_t elements = padded_length(g.length) * padded;
  const int64_t blocks = padded_length(g.length) / kBlock;
  Arena arena(g.scratch);
  E* rows = arena.take<E>(elements);
  E* keys = arena.take<E>(elements);
  E* values = arena.take<E>(elements);
  QueryBlock<E> block;
  block.scores = arena.take<float>(kBlock * kKeyBlocks * kBlock);
  block.probabilities = arena.take<E>(kBlock * kKeyBlocks * kBlock);
  block.output = arena.take<float>(kBlock * padded);
  pack_rows(g, Head<T>{static_cast<const T*>(a.k), g.key_stride}, true, rows);
  for (int64_t i = 0; i < blocks; ++i) {
    pack_transposed(rows + i * kBlock * padded, padded, keys + i * kBlock * padded);
  }
  E* value_rows = __is_same(E, float) ? values : rows;
  pack_rows(g, Head<T>{static_cast<const T*>(a.v), g.key_stride}, false, value_rows);
  for (int64_t i = 0; i < blocks; ++i) {
    pack_summed_rows(value_rows + i * kBlock * padded, padded, values + i * kBlock * padded);
  }
  for (int64_t head = 0; head < g.heads; ++head) {
    pack_rows(g, Head<T>{static_cast<const T*>(a.q) + head * g.head_dim, g.query_stride}, true, rows);
    for (int64_t query_block = 0; query_block < blocks; ++query_block) {
      attend_query_block(g, rows, query_block, ForwardOperands<E>{keys, values}, block);
      store_query_block<T>(a, head, query_block, block);
    }
  }
}

template <typename T>
void attention_forward(const AttentionForward& a) {
  attention_forward_in<T, float>(a);
}
template <>
inline void attention_forward<Bf16>(const AttentionForward& a) {
  a.group.bf16_product != nullptr ? attention_forward_in<Bf16, Bf16>(a) : attention_forward_in<Bf16, float>(a);
}

}  // namespace assay::engine::ASSAY_ISA
