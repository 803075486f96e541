#include "engine/model/decoder.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/model/attention_dropout.h"

namespace assay::engine {
namespace {

/// Takes a layer's parameters from a source, under their checkpoint names.
class LayerBuilder {
 public:
  LayerBuilder(const ModelConfig& config, const ParameterSource& parameters, int64_t index)
      : config_(config), parameters_(parameters), prefix_(fmt::format("model.layers.{}.", index)) {}

  DecoderLayer build() const {
    const int64_t hidden = config_.hidden_size;
    const int64_t query = config_.num_query_heads * config_.head_dim;
    const int64_t key_value = config_.num_key_value_heads * config_.head_dim;
    const int64_t intermediate = config_.intermediate_size;
    DecoderLayer layer;
    layer.q_proj = linear("self_attn.q_proj", query, hidden, config_.attention_bias);
    layer.k_proj = linear("self_attn.k_proj", key_value, hidden, config_.attention_bias);
    layer.v_proj = linear("self_attn.v_proj", key_value, hidden, config_.attention_bias);
    layer.o_proj = linear("self_attn.o_proj", hidden, query, config_.attention_bias);
    layer.gate_proj = linear("mlp.gate_proj", intermediate, hidden, config_.mlp_bias);
    layer.up_proj = linear("mlp.up_proj", intermediate, hidden, config_.mlp_bias);
    layer.down_proj = linear("mlp.down_proj", hidden, intermediate, config_.mlp_bias);
    layer.input_norm_H = norm("input_layernorm");
    layer.post_attention_norm_H = norm("post_attention_layernorm");
    return layer;
  }

 private:
  Linear linear(const char* name, int64_t out, int64_t in, bool bias) const {
    Linear linear;
    linear.path = prefix_ + name;
    linear.weight_OI = parameters_({linear.path + ".weight", {out, in}, Initializer::kNormal});
    if (bias) {
      linear.bias_O = parameters_({linear.path + ".bias", {out}, Initializer::kZeros});
    }
    return linear;
  }

  at::Tensor norm(const char* name) const {
    return parameters_({prefix_ + name + ".weight", {config_.hidden_size}, Initializer::kOnes});
  }

  const ModelConfig& config_;
  const ParameterSource& parameters_;
  std::string prefix_;
};

bool trainable(const at::Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

bool trainable(const Linear& linear) {
  return trainable(linear.weight_OI) || (linear.bias_O && trainable(*linear.bias_O)) ||
         (linear.lora && (trainable(linear.lora->a_rI) || trainable(linear.lora->b_Or)));
}

bool trainable(const DecoderLayer& layer) {
  return trainable(layer.input_norm_H) || trainable(layer.post_attention_norm_H) ||
         std::ranges::any_of(layer.linears(), [](const Linear* linear) { return trainable(*linear); });
}

/// Of its adapters.
bool has_dropout(const DecoderLayer& layer) {
  return std::ranges::any_of(layer.linears(), [](const Linear* linear) {
    return linear->training && linear->lora && linear->lora->dropout > 0;
  });
}

/// What a layer's adapters keep for each token: their thin products, and dropout's mask.
int64_t adapter_bytes(const DecoderLayer& layer) {
  int64_t bytes = 0;
  for (const Linear* linear : layer.linears()) {
    if (linear->lora) {
      bytes += linear->lora->a_rI.size(0) * static_cast<int64_t>(sizeof(float));
      bytes += linear->training && linear->lora->dropout > 0 ? linear->lora->a_rI.size(1) : 0;
    }
  }
  return bytes;
}

RecomputePtr norm_again(const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
  return c10::make_intrusive<Recompute>(
      [x = x_TH.detach(), weight = weight_H.detach(), eps] { return rms_norm(x, weight, eps); });
}

RecomputePtr swiglu_again(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return c10::make_intrusive<Recompute>([gate = gate_TI.detach(), up = up_TI.detach()] { return swiglu(gate, up); });
}

}  // namespace

std::vector<Linear*> DecoderLayer::linears() {
  return {&q_proj, &k_proj, &v_proj, &o_proj, &gate_proj, &up_proj, &down_proj};
}

std::vector<const Linear*> DecoderLayer::linears() const {
  return {&q_proj, &k_proj, &v_proj, &o_proj, &gate_proj, &up_proj, &down_proj};
}

Decoder::Decoder(ModelConfig config, const ParameterSource& parameters)
    : config_(std::move(config)),
      embedding_VH_(parameters({"model.embed_tokens.weight", {config_.vocab_size, config_.hidden_size}})),
      rotary_(config_, embedding_VH_.device()) {
  layers_.reserve(static_cast<size_t>(config_.num_layers));
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    layers_.push_back(LayerBuilder(config_, parameters, i).build());
  }
  final_norm_H_ = parameters({"model.norm.weight", {config_.hidden_size}, Initializer::kOnes});
  if (!config_.tie_word_embeddings) {
    head_VH_ = parameters({"lm_head.weight", {config_.vocab_size, config_.hidden_size}});
  }
}

at::Tensor Decoder::embed(const PackedBatch& batch) const {
  const at::Tensor x_TH = engine::embedding(batch.ids_T, embedding_VH_, config_.embedding_multiplier);
  if (config_.pad_token_id < 0 || !x_TH.requires_grad()) {
    return x_TH;
  }
  // nn.Embedding(padding_idx=...) gives that row no gradient, also where the id stands among real tokens.
  const at::Tensor is_padding_T1 = batch.ids_T.eq(config_.pad_token_id).unsqueeze(-1);
  return at::where(is_padding_T1, x_TH.detach(), x_TH);
}

at::Tensor Decoder::attend(const DecoderLayer& layer, const at::Tensor& normed_TH, const RecomputePtr& normed_again,
                           const PackedBatch& batch, const RotaryTable& rotary) const {
  const AttentionOptions options{.query_heads = config_.num_query_heads,
                                 .key_value_heads = config_.num_key_value_heads,
                                 .head_dim = config_.head_dim,
                                 .scale = config_.attention_scale,
                                 .sliding_window = config_.sliding_window};
  const at::Tensor q_TND = layer.q_proj.forward(normed_TH, normed_again);
  const at::Tensor k_TKD = layer.k_proj.forward(normed_TH, normed_again);
  const at::Tensor v_TKD = layer.v_proj.forward(normed_TH, normed_again);
  if (training_ && config_.attention_dropout > 0) {
    return layer.o_proj.forward(
        attention_with_dropout(q_TND, k_TKD, v_TKD, batch, rotary, options, config_.attention_dropout));
  }
  return layer.o_proj.forward(engine::attention(q_TND, k_TKD, v_TKD, batch, &rotary, options));
}

LayerResult Decoder::forward_layer(const DecoderLayer& layer, const LayerState& input, const PackedBatch& batch,
                                   const RotaryTable& rotary) const {
  const double eps = config_.rms_norm_eps;
  const double multiplier = config_.residual_multiplier;
  at::Tensor entry_TH = input.residual_TH;
  at::Tensor normed_TH;
  if (input.block_TH.defined()) {
    std::tie(entry_TH, normed_TH) =
        add_rms_norm(input.residual_TH, input.block_TH, layer.input_norm_H, eps, multiplier);
  } else {
    normed_TH = rms_norm(entry_TH, layer.input_norm_H, eps);
  }
  const at::Tensor attended_TH = attend(layer, normed_TH, norm_again(entry_TH, layer.input_norm_H, eps), batch, rotary);
  const auto [residual_TH, mlp_input_TH] =
      add_rms_norm(entry_TH, attended_TH, layer.post_attention_norm_H, eps, multiplier);
  const RecomputePtr mlp_input_again = norm_again(residual_TH, layer.post_attention_norm_H, eps);
  const at::Tensor gate_TI = layer.gate_proj.forward(mlp_input_TH, mlp_input_again);
  const at::Tensor up_TI = layer.up_proj.forward(mlp_input_TH, mlp_input_again);
  const at::Tensor block_TH = layer.down_proj.forward(swiglu(gate_TI, up_TI), swiglu_again(gate_TI, up_TI));
  return {{residual_TH, block_TH}, entry_TH};
}

LayerState Decoder::checkpoint_layer(const DecoderLayer& layer, const LayerState& input,
                                     const std::shared_ptr<const PackedBatch>& batch, const RotaryTable& rotary) const {
  // The table is held by value: a longer batch may replace the cache's before backward runs.
  auto again = [this, &layer, batch, rotary](const LayerState& state) {
    return forward_layer(layer, state, *batch, rotary);
  };
  const bool draws = (training_ && config_.attention_dropout > 0) || has_dropout(layer);
  return checkpointed(std::move(again), input, draws);
}

at::Tensor Decoder::hidden(const PackedBatch& batch) {
  const RotaryTable rotary = rotary_.table(batch.longest_row);
  const auto shared_batch = std::make_shared<const PackedBatch>(batch);
  LayerState state{embed(batch), {}};
  int64_t to_checkpoint = at::GradMode::is_enabled() ? checkpointed_layers_ : 0;
  bool keeps_activations = state.residual_TH.requires_grad();
  for (const DecoderLayer& layer : layers_) {
    keeps_activations = keeps_activations || trainable(layer);
    if (keeps_activations && to_checkpoint > 0) {
      --to_checkpoint;
      state = checkpoint_layer(layer, state, shared_batch, rotary);
    } else {
      state = forward_layer(layer, state, batch, rotary).state;
    }
  }
  return add_rms_norm(state.residual_TH, state.block_TH, final_norm_H_, config_.rms_norm_eps,
                      config_.residual_multiplier)
      .second;
}

at::Tensor Decoder::logits(const PackedBatch& batch) {
  const at::Tensor logits_TV = engine::linear(hidden(batch), head_VH(), std::nullopt);
  return config_.logits_divisor == 1.0 ? logits_TV : logits_TV / config_.logits_divisor;
}

at::Tensor Decoder::loss_sum(const PackedBatch& batch) {
  return engine::linear_cross_entropy_sum(hidden(batch), head_VH(), batch.supervised_positions_S,
                                          batch.supervised_targets_S, config_.logits_divisor);
}

ActivationCost Decoder::activation_cost(int64_t tokens) const {
  ActivationCost cost;
  const auto first = trainable(embedding_VH_)
                         ? layers_.begin()
                         : std::ranges::find_if(layers_, [](const auto& layer) { return trainable(layer); });
  cost.loss_bytes = linear_cross_entropy_bytes(tokens, head_VH());
  if (first == layers_.end()) {
    return cost;
  }
  int64_t adapters = 0;
  for (auto layer = first; layer != layers_.end(); ++layer) {
    adapters = std::max(adapters, adapter_bytes(*layer));
  }
  const auto element = static_cast<int64_t>(embedding_VH_.element_size());
  const int64_t queries = config_.num_query_heads * config_.head_dim;
  const int64_t keys = config_.num_key_value_heads * config_.head_dim;
  const int64_t hidden = config_.hidden_size;
  const int64_t intermediate = config_.intermediate_size;
  constexpr int64_t kStatistic = sizeof(float);
  cost.layers = layers_.end() - first;
  // Both residual sums with their norms' statistics; q, k, v, the attention's output and statistics; gate and up.
  cost.layer_bytes = tokens * (element * 2 * (hidden + queries + keys + intermediate) +
                               kStatistic * (2 + config_.num_query_heads) + adapters);
  cost.checkpointed_layer_bytes = tokens * element * hidden;
  // Gradients of the activation, gate and up, the activation made again, and the gradients that meet at a norm.
  cost.working_bytes = tokens * element * 4 * (intermediate + hidden);
  return cost;
}

std::vector<NamedTensor> Decoder::parameters() const {
  std::vector<NamedTensor> named{{"model.embed_tokens.weight", embedding_VH_}};
  for (size_t i = 0; i < layers_.size(); ++i) {
    const DecoderLayer& layer = layers_[i];
    for (const Linear* linear : layer.linears()) {
      named.emplace_back(linear->path + ".weight", linear->weight_OI);
      if (linear->bias_O) {
        named.emplace_back(linear->path + ".bias", *linear->bias_O);
      }
    }
    named.emplace_back(fmt::format("model.layers.{}.input_layernorm.weight", i), layer.input_norm_H);
    named.emplace_back(fmt::format("model.layers.{}.post_attention_layernorm.weight", i), layer.post_attention_norm_H);
  }
  named.emplace_back("model.norm.weight", final_norm_H_);
  if (head_VH_.defined()) {
    named.emplace_back("lm_head.weight", head_VH_);
  }
  return named;
}

std::vector<Linear*> Decoder::linears() {
  std::vector<Linear*> all;
  for (DecoderLayer& layer : layers_) {
    const std::vector<Linear*> own = layer.linears();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void Decoder::set_training(bool on) {
  training_ = on;
  for (Linear* linear : linears()) {
    linear->training = on;
  }
}

std::unique_ptr<CausalLM> build_decoder(const ModelConfig& config, const ParameterSource& parameters) {
  return std::make_unique<Decoder>(config, parameters);
}

}  // namespace assay::engine
