// What a decoder keeps of a row's tokens, so that the next one is computed alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "engine/kernels/attention_cache.h"

namespace assay::engine {

/// Of a layer: one with Mamba-2 has no attention.
struct LayerCache {
  AttentionCache attention;
  at::Tensor convolved_KC;  ///< inputs of Mamba-2's convolution that reach into later tokens
  at::Tensor state_NPS;     ///< of its state space, float32
};

/// Of one row; empty before its first tokens.
struct DecodingCache {
  int64_t tokens = 0;  ///< places of a trained prompt included
  std::vector<LayerCache> layers;
};

}  // namespace assay::engine
