// What a decoder's activations take, by the shape of its layers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/model/causal_lm.h"
#include "engine/model/decoder_layer.h"

namespace assay::engine {

/// Of a decoder, or a part of one, with these layers, at least one, and this head (undefined: the part has none).
/// `input_trains`: what the first layer takes in has a gradient. See CausalLM::activation_cost().
ActivationCost decoder_activation_cost(const ModelConfig& config, bool input_trains,
                                       std::span<const std::unique_ptr<DecoderLayer>> layers, const at::Tensor& head_VH,
                                       int64_t tokens, int64_t longest);

}  // namespace assay::engine
