#include "engine/model/decoder_forecast.h"

#include <algorithm>

#include "engine/kernels/ceilings.h"

namespace assay::engine {
namespace {

constexpr int64_t kStatistic = sizeof(float);

/// What a layer's adapters keep for each token: their thin products.
int64_t adapter_bytes(const DecoderLayer& layer) {
  int64_t bytes = 0;
  for (const Linear* linear : layer.linears()) {
    if (linear->lora) {
      bytes += linear->lora->a_rI.size(0) * static_cast<int64_t>(sizeof(float));
    }
  }
  return bytes;
}

/// The largest mask of its adapters' dropout.
int64_t mask_bytes(const DecoderLayer& layer, int64_t tokens) {
  int64_t most = 0;
  for (const Linear* linear : layer.linears()) {
    if (linear->lora && linear->training && linear->lora->dropout > 0) {
      most = std::max(most, tokens * linear->lora->a_rI.size(1));
    }
  }
  return most;
}

/// The float32 copies of its largest product, where products of 16 bits go through float32.
int64_t copy_bytes(const DecoderLayer& layer, int64_t tokens) {
  int64_t most = 0;
  for (const Linear* linear : layer.linears()) {
    const at::Tensor& weight_OI = linear->weight_OI;
    if (weight_OI.is_cpu() && products_through_float32(weight_OI.scalar_type())) {
      most = std::max(most, float32_copy_bytes(tokens, weight_OI.size(1), weight_OI.size(0)));
    }
  }
  return most;
}

/// What a layer keeps for each token, but for its adapters.
int64_t kept_bytes(const ModelConfig& config, const DecoderLayer& layer, int64_t element) {
  const int64_t queries = layer.q_proj.weight_OI.size(0);
  const int64_t keys = layer.k_proj.weight_OI.size(0);
  const int64_t query_heads = queries / config.head_dim;
  // Both residual sums with their norms' statistics; q, k, v, the attention's output and statistics; gate and up.
  const int64_t bytes = element * 2 * (config.hidden_size + queries + keys + layer.gate_proj.weight_OI.size(0)) +
                        kStatistic * (2 + query_heads);
  // What the norms of q and k take in, and their statistics.
  const int64_t head_norms = element * (queries + keys) + kStatistic * (query_heads + keys / config.head_dim);
  return bytes + (config.query_key_norm ? head_norms : 0);
}

/// What attention with dropout keeps for each token of rows of `longest`: probabilities as softmax leaves them, the
/// factors of dropout, and their product.
int64_t dropped_attention_bytes(const ModelConfig& config, const DecoderLayer& layer, int64_t element,
                                int64_t longest) {
  const bool drops = config.attention_dropout > 0 && layer.q_proj.training;
  const int64_t query_heads = layer.q_proj.weight_OI.size(0) / config.head_dim;
  return drops ? query_heads * longest * (static_cast<int64_t>(sizeof(float)) + 2 * element) : 0;
}

}  // namespace

ActivationCost decoder_activation_cost(const ModelConfig& config, bool input_trains,
                                       std::span<const DecoderLayer> layers, const at::Tensor& head_VH, int64_t tokens,
                                       int64_t longest) {
  ActivationCost cost;
  cost.loss_bytes = head_VH.defined() ? linear_cross_entropy_bytes(tokens, head_VH) : 0;
  const auto first = input_trains ? layers.begin() : std::ranges::find_if(layers, &DecoderLayer::trains);
  if (first == layers.end()) {
    return cost;
  }
  int64_t adapters = 0;
  for (auto layer = first; layer != layers.end(); ++layer) {
    adapters = std::max(adapters, adapter_bytes(*layer));
  }
  const at::Tensor& weight = layers.front().q_proj.weight_OI;
  const auto element = static_cast<int64_t>(weight.element_size());
  cost.layers = layers.end() - first;
  const int64_t dropped = dropped_attention_bytes(config, layers.front(), element, longest);
  cost.layer_bytes = tokens * (kept_bytes(config, layers.front(), element) + adapters + dropped);
  // The residual sum that it starts from, and what attention leaves on the CPU.
  const int64_t queries = layers.front().q_proj.weight_OI.size(0);
  const int64_t attended = element * queries + kStatistic * queries / config.head_dim;
  cost.checkpointed_layer_bytes = tokens * (element * config.hidden_size + (weight.is_cpu() ? attended : 0));
  // Gradients of the activation, gate and up, the activation made again, and the gradients that meet at a norm.
  cost.working_bytes = tokens * element * 4 * (layers.front().gate_proj.weight_OI.size(0) + config.hidden_size) +
                       copy_bytes(layers.front(), tokens) + mask_bytes(*first, tokens);
  return cost;
}

}  // namespace assay::engine
