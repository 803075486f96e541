#include "engine/model/decoder_forecast.h"

#include <algorithm>

#include "architecture/parameters.h"
#include "engine/kernels/ceilings.h"

namespace assay::engine {
namespace {

constexpr int64_t kStatistic = sizeof(float);

/// What a layer's adapters of experts keep beside the thin products: themselves, in the order of the products.
int64_t stack_bytes(const DecoderLayer& layer) {
  int64_t numbers = 0;
  for (const ExpertStack* stack : layer.stacks()) {
    numbers += stack->lora ? stack->lora->a_rI.numel() + stack->lora->b_Or.numel() : 0;
  }
  return numbers * static_cast<int64_t>(layer.options().dtype().itemsize());
}

/// What DoRA keeps for each token beside LoRA: the product whose outputs get their lengths; with dropout what it left,
/// in the weight's dtype and in that of A, and the update.
int64_t dora_bytes(const Linear& linear) {
  const int64_t in = linear.lora->a_rI.size(1);
  const int64_t out = linear.lora->b_Or.size(0);
  const auto element = static_cast<int64_t>(linear.weight_OI.element_size());
  const bool drops = linear.training && linear.lora->dropout > 0;
  const int64_t copy = element < static_cast<int64_t>(sizeof(float)) ? in : 0;
  return element * out + (drops ? element * 2 * in + static_cast<int64_t>(sizeof(float)) * (copy + out) : 0);
}

/// What a layer's adapters keep for each token: their thin products, of experts once for each that it has, and scaled.
int64_t adapter_bytes(const ModelConfig& config, const DecoderLayer& layer) {
  int64_t bytes = 0;
  for (const ExpertStack* stack : layer.stacks()) {
    if (stack->lora) {
      const int64_t rank = stack->lora->a_rI.size(0) / stack->experts;
      bytes += 2 * config.experts_per_token * rank * static_cast<int64_t>(layer.options().dtype().itemsize());
    }
  }
  for (const Linear* linear : layer.linears()) {
    if (linear->lora) {
      bytes += linear->lora->a_rI.size(0) * static_cast<int64_t>(sizeof(float));
    }
    if (linear->dora) {
      bytes += dora_bytes(*linear);
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
  const LayerWidths widths = layer.widths();
  const at::TensorOptions options = layer.options();
  if (widths.mixed > 0 && options.device().is_cpu() &&
      products_through_float32(c10::typeMetaToScalarType(options.dtype()))) {
    most = std::max(most, float32_copy_bytes(tokens, widths.expert_inputs, widths.expert_outputs));
  }
  return most;
}

/// What a layer keeps for each token, but for its adapters.
int64_t kept_bytes(const ModelConfig& config, const LayerWidths& widths, int64_t element) {
  const int64_t query_heads = widths.queries / config.head_dim;
  const int64_t key_heads = widths.keys / config.head_dim;
  const int64_t norm_statistics = architecture::HasLayerNorms(config) ? 2 : 1;
  // Both residual sums with their norms' statistics; q, k, v, the attention's output and statistics; gate and up.
  const int64_t bytes =
      element * (2 * (config.hidden_size + widths.queries + widths.keys) + widths.mixer + widths.mlp_kept) +
      kStatistic * (2 * norm_statistics + query_heads);
  // Heads with features beside them are made of those without, and copied without them again.
  const int64_t beside = widths.beside > 0 ? element * (4 * widths.beside + widths.queries) : 0;
  // What the norms of q and k take in, and their statistics.
  const int64_t head_norms = element * (widths.queries + widths.keys) + kStatistic * (query_heads + key_heads);
  return bytes + beside + (config.query_key_norm ? head_norms : 0);
}

/// What attention with dropout keeps for each token of rows of `longest`: probabilities as softmax leaves them, the
/// factors of dropout, and their product.
int64_t dropped_attention_bytes(const ModelConfig& config, const DecoderLayer& layer, int64_t element,
                                int64_t longest) {
  const bool drops = config.attention_dropout > 0 && layer.linears().front()->training;
  const int64_t query_heads = layer.widths().queries / config.head_dim;
  return drops ? query_heads * longest * (static_cast<int64_t>(sizeof(float)) + 2 * element) : 0;
}

/// Bytes of one layer.
struct LayerCost {
  int64_t kept = 0;
  int64_t checkpointed = 0;
  int64_t working = 0;
};

LayerCost cost_of(const ModelConfig& config, const DecoderLayer& layer, int64_t tokens, int64_t longest) {
  const LayerWidths widths = layer.widths();
  const auto element = static_cast<int64_t>(layer.options().dtype().itemsize());
  const int64_t dropped = dropped_attention_bytes(config, layer, element, longest);
  // What multiplies the features that two blocks drop.
  const int64_t factors = config.residual_dropout > 0 && layer.linears().front()->training ? 2 * config.hidden_size : 0;
  // The residual sum that it starts from, and what attention leaves on the CPU.
  const int64_t attended = element * (widths.queries + widths.beside) + kStatistic * widths.queries / config.head_dim;
  // Gradients of the activation, gate and up, the activation made again, and the gradients that meet at a norm.
  // Of a mixture the rows of a token's experts meet there.
  const int64_t rows = std::max(config.hidden_size, widths.mixed);
  return {.kept = tokens * (kept_bytes(config, widths, element) + element * factors + adapter_bytes(config, layer) +
                            dropped) +
                  stack_bytes(layer),
          .checkpointed = tokens * (element * config.hidden_size + (layer.options().device().is_cpu() ? attended : 0)),
          .working = tokens * element * 4 * (widths.inner + rows) + longest * widths.mixer_row_bytes +
                     copy_bytes(layer, tokens) + mask_bytes(layer, tokens)};
}

}  // namespace

ActivationCost decoder_activation_cost(const ModelConfig& config, bool input_trains,
                                       std::span<const std::unique_ptr<DecoderLayer>> layers, const at::Tensor& head_VH,
                                       int64_t tokens, int64_t longest) {
  ActivationCost cost;
  cost.loss_bytes = head_VH.defined() ? linear_cross_entropy_bytes(tokens, head_VH) : 0;
  const auto first =
      input_trains ? layers.begin() : std::ranges::find_if(layers, [](const auto& layer) { return layer->trains(); });
  if (first == layers.end()) {
    return cost;
  }
  for (auto it = first; it != layers.end(); ++it) {
    const LayerCost of_layer = cost_of(config, **it, tokens, longest);
    cost.layer_bytes.push_back(of_layer.kept);
    cost.checkpointed_layer_bytes = std::max(cost.checkpointed_layer_bytes, of_layer.checkpointed);
    cost.working_bytes = std::max(cost.working_bytes, of_layer.working);
  }
  return cost;
}

}  // namespace assay::engine
