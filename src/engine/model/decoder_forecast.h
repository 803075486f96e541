// What a decoder's activations take, by the shape of its layers.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/causal_lm.h"
#include "engine/model/decoder_layer.h"

namespace assay::engine {

/// Of a decoder with these parts: the weights of its embedding and of its head, and its layers, at least one. See
/// CausalLM::activation_cost().
ActivationCost decoder_activation_cost(const ModelConfig& config, const at::Tensor& embedding_VH,
                                       std::span<const DecoderLayer> layers, const at::Tensor& head_VH, int64_t tokens,
                                       int64_t longest);

}  // namespace assay::engine
