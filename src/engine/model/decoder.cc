#include "engine/model/decoder.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <string>
#include <utility>

#include "engine/kernels/ceilings.h"
#include "engine/model/attention_dropout.h"
#include "engine/model/safetensors.h"

namespace assay::engine {
namespace {

bool trainable(const at::Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

bool trainable(const Linear& linear) {
  return trainable(linear.weight_OI) || (linear.bias_O && trainable(*linear.bias_O)) ||
         (linear.lora && (trainable(linear.lora->a_rI) || trainable(linear.lora->b_Or)));
}

bool trainable(const DecoderLayer& layer) {
  return std::ranges::any_of(layer.norms(), [](const RmsNorm* norm) { return trainable(norm->weight_H); }) ||
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

/// The norm of each head on its own; x as it is where there is no such norm.
at::Tensor norm_heads(const RmsNorm& norm, const at::Tensor& x_TND, double eps) {
  if (!norm.weight_H.defined()) {
    return x_TND;
  }
  return rms_norm(x_TND.view({-1, norm.weight_H.size(0)}), norm.weight_H, eps).view(x_TND.sizes());
}

RecomputePtr norm_again(const at::Tensor& x_TH, const at::Tensor& weight_H, double eps) {
  return c10::make_intrusive<Recompute>(
      [x = x_TH.detach(), weight = weight_H.detach(), eps] { return rms_norm(x, weight, eps); });
}

RecomputePtr swiglu_again(const at::Tensor& gate_TI, const at::Tensor& up_TI) {
  return c10::make_intrusive<Recompute>([gate = gate_TI.detach(), up = up_TI.detach()] { return swiglu(gate, up); });
}

}  // namespace

Decoder::Decoder(ModelConfig config, const ParameterSource& parameters)
    : config_(std::move(config)),
      embedding_VH_(parameters(architecture::EmbeddingParameter(config_))),
      rotary_(config_, embedding_VH_.device()) {
  units_.push_back({"model.embed_tokens", {{architecture::EmbeddingParameter(config_).name, &embedding_VH_}}, {}});
  const auto take = [&](const ParameterSpec& spec, at::Tensor& place) {
    place = parameters(spec);
    units_.back().parameters.push_back({spec.name, &place});
  };
  layers_.reserve(static_cast<size_t>(config_.num_layers));
  for (int64_t i = 0; i < config_.num_layers; ++i) {
    DecoderLayer& layer = layers_.emplace_back(architecture::LayerPath(i));
    layer.sliding_window = config_.layer_windows[static_cast<size_t>(i)];
    units_.push_back({architecture::LayerPath(i), {}, {}});
    for (const ParameterSpec& spec : architecture::LayerParameters(config_, i)) {
      take(spec, layer.place(spec.name));
    }
  }
  units_.push_back({"lm_head", {}, {}});
  for (const ParameterSpec& spec : architecture::HeadParameters(config_)) {
    take(spec, spec.name.starts_with("lm_head.") ? head_VH_ : final_norm_H_);
  }
  if (config_.tie_word_embeddings) {
    units_.back().also_uses.push_back(0);
  }
}

at::Tensor Decoder::embed(const PackedBatch& batch) const {
  const at::Tensor ids_T = hooks_.enter(0, batch.ids_T);
  at::Tensor x_TH = engine::embedding(ids_T, embedding_VH_, config_.embedding_multiplier);
  if (config_.pad_token_id >= 0 && x_TH.requires_grad()) {
    // nn.Embedding(padding_idx=...) gives that row no gradient, also where the id stands among real tokens.
    const at::Tensor is_padding_T1 = ids_T.eq(config_.pad_token_id).unsqueeze(-1);
    x_TH = at::where(is_padding_T1, x_TH.detach(), x_TH);
  }
  return hooks_.leave(0, x_TH);
}

at::Tensor Decoder::attend(const DecoderLayer& layer, const at::Tensor& normed_TH, const RecomputePtr& normed_again,
                           const PackedBatch& batch, const RotaryTable& rotary, KeptAttention* kept) const {
  const AttentionOptions options{.query_heads = config_.num_query_heads,
                                 .key_value_heads = config_.num_key_value_heads,
                                 .head_dim = config_.head_dim,
                                 .scale = config_.attention_scale,
                                 .sliding_window = layer.sliding_window};
  const double eps = config_.rms_norm_eps;
  const at::Tensor q_TND = norm_heads(layer.q_norm, layer.q_proj.forward(normed_TH, normed_again), eps);
  const at::Tensor k_TKD = norm_heads(layer.k_norm, layer.k_proj.forward(normed_TH, normed_again), eps);
  const at::Tensor v_TKD = layer.v_proj.forward(normed_TH, normed_again);
  if (training_ && config_.attention_dropout > 0) {
    return layer.o_proj.forward(
        attention_with_dropout(q_TND, k_TKD, v_TKD, batch, rotary, options, config_.attention_dropout));
  }
  return layer.o_proj.forward(engine::attention(q_TND, k_TKD, v_TKD, batch, &rotary, options, kept));
}

LayerResult Decoder::forward_layer(size_t index, const LayerState& state, const PackedBatch& batch,
                                   const RotaryTable& rotary, bool again, KeptAttention* kept) const {
  const DecoderLayer& layer = layers_[index];
  const int64_t unit = unit_of_layer(index);
  const LayerState input = hooks_.enter(unit, state, again);
  const double eps = config_.rms_norm_eps;
  const double multiplier = config_.residual_multiplier;
  at::Tensor entry_TH = input.residual_TH;
  at::Tensor normed_TH;
  if (input.block_TH.defined()) {
    std::tie(entry_TH, normed_TH) =
        add_rms_norm(input.residual_TH, input.block_TH, layer.input_norm.weight_H, eps, multiplier);
  } else {
    normed_TH = rms_norm(entry_TH, layer.input_norm.weight_H, eps);
  }
  const at::Tensor attended_TH =
      attend(layer, normed_TH, norm_again(entry_TH, layer.input_norm.weight_H, eps), batch, rotary, kept);
  const auto [residual_TH, mlp_input_TH] =
      add_rms_norm(entry_TH, attended_TH, layer.post_attention_norm.weight_H, eps, multiplier);
  const RecomputePtr mlp_input_again = norm_again(residual_TH, layer.post_attention_norm.weight_H, eps);
  const at::Tensor gate_TI = layer.gate_proj.forward(mlp_input_TH, mlp_input_again);
  const at::Tensor up_TI = layer.up_proj.forward(mlp_input_TH, mlp_input_again);
  const at::Tensor block_TH = layer.down_proj.forward(swiglu(gate_TI, up_TI), swiglu_again(gate_TI, up_TI),
                                                      again ? Output::kUnset : Output::kComputed);
  return {{residual_TH, hooks_.leave(unit, block_TH, again)}, entry_TH};
}

LayerState Decoder::checkpoint_layer(size_t index, const LayerState& input,
                                     const std::shared_ptr<const PackedBatch>& batch, const RotaryTable& rotary) const {
  // The table is held by value: a longer batch may replace the cache's before backward runs.
  auto layer = [this, index, batch, rotary, again = false, kept = KeptAttention()](const LayerState& state) mutable {
    return forward_layer(index, state, *batch, rotary, std::exchange(again, true), &kept);
  };
  const bool draws = (training_ && config_.attention_dropout > 0) || has_dropout(layers_[index]);
  return checkpointed(std::move(layer), input, draws);
}

LayerState Decoder::run_layers(const PackedBatch& batch) {
  const RotaryTable rotary = rotary_.table(batch.longest_row);
  const auto shared_batch = std::make_shared<const PackedBatch>(batch);
  LayerState state{embed(batch), {}};
  int64_t to_checkpoint = at::GradMode::is_enabled() ? checkpointed_layers_ : 0;
  bool keeps_activations = state.residual_TH.requires_grad();
  for (size_t i = 0; i < layers_.size(); ++i) {
    keeps_activations = keeps_activations || trainable(layers_[i]);
    if (keeps_activations && to_checkpoint > 0) {
      --to_checkpoint;
      state = checkpoint_layer(i, state, shared_batch, rotary);
    } else {
      state = forward_layer(i, state, batch, rotary).state;
    }
  }
  return hooks_.enter(last_unit(), state, /*again=*/false);
}

at::Tensor Decoder::final_norm(const LayerState& state) const {
  return add_rms_norm(state.residual_TH, state.block_TH, final_norm_H_, config_.rms_norm_eps,
                      config_.residual_multiplier)
      .second;
}

at::Tensor Decoder::hidden(const PackedBatch& batch) {
  return hooks_.leave(last_unit(), final_norm(run_layers(batch)));
}

at::Tensor Decoder::logits(const PackedBatch& batch) {
  const at::Tensor hidden_TH = final_norm(run_layers(batch));
  const at::Tensor logits_TV = engine::linear(hidden_TH, head_VH(), std::nullopt);
  return hooks_.leave(last_unit(), config_.logits_divisor == 1.0 ? logits_TV : logits_TV / config_.logits_divisor);
}

at::Tensor Decoder::loss_sum(const PackedBatch& batch, double gradient) {
  const at::Tensor hidden_TH = final_norm(run_layers(batch));
  return hooks_.leave(last_unit(), engine::linear_cross_entropy_sum(hidden_TH, head_VH(), batch.supervised_positions_S,
                                                                    batch.supervised_targets_S, config_.logits_divisor,
                                                                    packed_head_, gradient));
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
  if (config_.query_key_norm) {
    // What the norms of q and k take in, and their statistics.
    cost.layer_bytes +=
        tokens * (element * (queries + keys) + kStatistic * (config_.num_query_heads + config_.num_key_value_heads));
  }
  // The residual sum that it starts from, and what attention leaves on the CPU.
  const int64_t attended = element * queries + kStatistic * config_.num_query_heads;
  cost.checkpointed_layer_bytes = tokens * (element * hidden + (embedding_VH_.is_cpu() ? attended : 0));
  // Gradients of the activation, gate and up, the activation made again, and the gradients that meet at a norm.
  cost.working_bytes = tokens * element * 4 * (intermediate + hidden) + copy_bytes(layers_.front(), tokens);
  return cost;
}

std::vector<NamedTensor> Decoder::parameters() const {
  std::vector<NamedTensor> named;
  for (const ParameterUnit& unit : units_) {
    for (const ParameterRef& parameter : unit.parameters) {
      named.emplace_back(parameter.name, *parameter.tensor);
    }
  }
  return named;
}

std::vector<ParameterUnit> Decoder::units() {
  std::vector<ParameterUnit> units = units_;
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (Linear* linear : layers_[i].linears()) {
      if (linear->lora) {
        const std::string path = "base_model.model." + linear->path;
        std::vector<ParameterRef>& parameters = units[static_cast<size_t>(unit_of_layer(i))].parameters;
        parameters.push_back({path + ".lora_A.weight", &linear->lora->a_rI});
        parameters.push_back({path + ".lora_B.weight", &linear->lora->b_Or});
      }
    }
  }
  return units;
}

std::vector<Linear*> Decoder::linears() {
  std::vector<Linear*> all;
  for (DecoderLayer& layer : layers_) {
    const std::vector<Linear*> own = layer.linears();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void Decoder::pack_frozen_weights() {
  const auto pack = [](const at::Tensor& weight_OI) {
    return PackedWeight::suits(weight_OI) ? c10::make_intrusive<PackedWeight>(weight_OI, release_mapped_pages)
                                          : PackedWeightPtr();
  };
  for (Linear* linear : linears()) {
    linear->packed = pack(linear->weight_OI);
  }
  packed_head_ = pack(head_VH());
}

int64_t Decoder::packed_bytes() const {
  constexpr int64_t kDirections = 2;
  int64_t bytes = 0;
  const auto count = [&](const at::Tensor& weight_OI) {
    bytes += PackedWeight::suits(weight_OI) ? kDirections * static_cast<int64_t>(weight_OI.nbytes()) : 0;
  };
  for (const DecoderLayer& layer : layers_) {
    for (const Linear* linear : layer.linears()) {
      count(linear->weight_OI);
    }
  }
  count(head_VH());
  return bytes;
}

void Decoder::set_training(bool on) {
  training_ = on;
  for (Linear* linear : linears()) {
    linear->training = on;
  }
}

}  // namespace assay::engine
