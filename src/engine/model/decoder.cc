#include "engine/model/decoder.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/model/decoder_forecast.h"
#include "engine/model/random_normal.h"

namespace assay::engine {
namespace {

constexpr std::array kDecoderSplitRules = {
    SplitRule{".q_proj.weight", TensorSplit::kRows},       SplitRule{".q_proj.bias", TensorSplit::kRows},
    SplitRule{".k_proj.weight", TensorSplit::kRows},       SplitRule{".k_proj.bias", TensorSplit::kRows},
    SplitRule{".v_proj.weight", TensorSplit::kRows},       SplitRule{".v_proj.bias", TensorSplit::kRows},
    SplitRule{".q_norm.weight", TensorSplit::kShared},     SplitRule{".k_norm.weight", TensorSplit::kShared},
    SplitRule{".o_proj.weight", TensorSplit::kColumns},    SplitRule{".o_proj.bias", TensorSplit::kFirstRank},
    SplitRule{".gate_proj.weight", TensorSplit::kRows},    SplitRule{".gate_proj.bias", TensorSplit::kRows},
    SplitRule{".up_proj.weight", TensorSplit::kRows},      SplitRule{".up_proj.bias", TensorSplit::kRows},
    SplitRule{".down_proj.weight", TensorSplit::kColumns}, SplitRule{".down_proj.bias", TensorSplit::kFirstRank},
};

bool is_between_blocks(std::string_view name) {
  return name.ends_with("layernorm.weight") || name == "model.norm.weight";
}

/// The norm of each head on its own; x as it is where there is no such norm.
at::Tensor norm_heads(const RmsNorm& norm, const at::Tensor& x_TND, double eps) {
  if (!norm.weight_H.defined()) {
    return x_TND;
  }
  return rms_norm(x_TND.view({-1, norm.weight_H.size(0)}), norm.weight_H, eps).view(x_TND.sizes());
}

}  // namespace

SplitRules decoder_split_rules() {
  return kDecoderSplitRules;
}

Decoder::Decoder(ModelConfig config, const ParameterSource& parameters, ModelPart part)
    : config_(std::move(config)), first_layer_(part.first_layer), embedding_{.path = "model.embed_tokens"} {
  const int64_t end = part.layers < 0 ? config_.num_layers : first_layer_ + part.layers;
  TORCH_CHECK(first_layer_ >= 0 && first_layer_ < end && end <= config_.num_layers, "layers ", first_layer_, " to ",
              end, " are no part of a model with ", config_.num_layers);
  const bool ends = end == config_.num_layers;
  if (begins_model() || (ends && config_.tie_word_embeddings)) {
    take_embedding(parameters);
  }
  layers_.reserve(static_cast<size_t>(end - first_layer_));
  for (int64_t i = first_layer_; i < end; ++i) {
    DecoderLayer& layer = layers_.emplace_back(architecture::LayerPath(i));
    layer.sliding_window = config_.layer_windows[static_cast<size_t>(i)];
    units_.push_back({architecture::LayerPath(i), {}, {}});
    for (const ParameterSpec& spec : architecture::LayerParameters(config_, i)) {
      take(parameters, spec, [&]() -> at::Tensor& { return layer.place(spec.name); });
    }
  }
  if (ends) {
    units_.push_back({untied_head_.path, {}, {}});
    for (const ParameterSpec& spec : architecture::HeadParameters(config_)) {
      const bool is_norm = spec.name == final_norm_.path + ".weight";
      take(parameters, spec, [&]() -> at::Tensor& { return is_norm ? final_norm_.weight_H : untied_head_.weight_OI; });
    }
    if (config_.tie_word_embeddings) {
      units_.back().also_uses.push_back(0);
    }
  }
  rotary_.emplace(config_, layers_.front().q_proj.weight_OI.device());
}

void Decoder::take_embedding(const ParameterSource& parameters) {
  const ParameterSpec spec = architecture::EmbeddingParameter(config_);
  embedding_.weight_OI = parameters(spec);
  // Where the other end of the model has it too, the first one counts its gradient.
  const bool at_both_ends = config_.tie_word_embeddings && config_.num_layers > num_layers();
  units_.push_back({embedding_.path,
                    {{.name = spec.name,
                      .tensor = &embedding_.weight_OI,
                      .counts_in_norm = begins_model(),
                      .at_both_ends = at_both_ends}},
                    {}});
}

void Decoder::take(const ParameterSource& parameters, const ParameterSpec& spec,
                   const std::function<at::Tensor&()>& place_of) {
  if (const at::Tensor parameter = parameters(spec); parameter.defined()) {
    at::Tensor& place = place_of();
    place = parameter;
    units_.back().parameters.push_back(
        {.name = spec.name, .tensor = &place, .between_blocks = is_between_blocks(spec.name)});
  }
}

at::Tensor Decoder::embed(const PackedBatch& batch) const {
  const at::Tensor ids_T = hooks_.enter(0, batch.ids_T);
  at::Tensor x_TH = engine::embedding(ids_T, embedding_.weight_OI, config_.embedding_multiplier);
  if (config_.pad_token_id >= 0 && x_TH.requires_grad()) {
    // nn.Embedding(padding_idx=...) gives that row no gradient, also where the id stands among real tokens.
    const at::Tensor is_padding_T1 = ids_T.eq(config_.pad_token_id).unsqueeze(-1);
    x_TH = at::where(is_padding_T1, x_TH.detach(), x_TH);
  }
  return hooks_.leave(0, prompt_PH_.defined() ? put_prompt(x_TH, batch) : x_TH);
}

at::Tensor Decoder::put_prompt(const at::Tensor& x_TH, const PackedBatch& batch) const {
  TORCH_CHECK(batch.prompt_length == prompt_PH_.size(0), "a prompt of ", prompt_PH_.size(0), " in rows with room for ",
              batch.prompt_length);
  // Its gradient is added up over the rows before it is rounded to the model's dtype.
  const at::Tensor rows_PH = prompt_PH_.repeat({batch.rows(), 1}).to(x_TH.scalar_type()) * config_.embedding_multiplier;
  return x_TH.index_copy(0, batch.prompt_places, rows_PH);
}

NormedSum Decoder::add_norm(const LayerState& state, const RmsNorm& norm) const {
  return normed_sum(state.residual_TH, state.block_TH, norm.weight_H, config_.rms_norm_eps,
                    config_.residual_multiplier);
}

at::Tensor Decoder::attend(const DecoderLayer& layer, const Recomputable& x_TH, const LayerRun& run) const {
  const int64_t heads = layer.q_proj.weight_OI.size(0) / config_.head_dim;
  const auto first_head = static_cast<uint64_t>(split_.part() * heads);
  const AttentionOptions options{.query_heads = heads,
                                 .key_value_heads = layer.k_proj.weight_OI.size(0) / config_.head_dim,
                                 .head_dim = config_.head_dim,
                                 .scale = config_.attention_scale,
                                 .sliding_window = layer.sliding_window,
                                 .dropout = training_ ? config_.attention_dropout : 0,
                                 .dropout_stream = stream_key(0, layer.attention_path) + first_head};
  const DropoutPlace place{run.batch.draw_keys_T};
  const at::Tensor q_TND =
      norm_heads(layer.q_norm, layer.q_proj.forward(x_TH, Output::kComputed, place), config_.rms_norm_eps);
  const at::Tensor k_TKD =
      norm_heads(layer.k_norm, layer.k_proj.forward(x_TH, Output::kComputed, place), config_.rms_norm_eps);
  const at::Tensor v_TKD = layer.v_proj.forward(x_TH, Output::kComputed, place);
  return attention(q_TND, k_TKD, v_TKD, run.batch, &run.rotary, options, run.kept);
}

LayerResult Decoder::forward_layer(const DecoderLayer& layer, const LayerState& input, const LayerRun& run) const {
  const int64_t tokens = run.batch.tokens();
  const auto [entry_TH, attention_input_TH] = add_norm(input, layer.input_norm);
  const DropoutPlace whole{run.batch.draw_keys_T};
  const DropoutPlace part{run.batch.draw_keys_T, split_.part()};
  const at::Tensor heads_TND = attend(layer, split_.enter(attention_input_TH, tokens, layer.q_proj.path), run);
  const at::Tensor attended_TH =
      split_.sum(layer.o_proj.forward(heads_TND, Output::kComputed, part), tokens, layer.o_proj.path);
  const auto [residual_TH, mlp_input_TH] = add_norm({entry_TH, attended_TH}, layer.post_attention_norm);
  const Recomputable x_TH = split_.enter(mlp_input_TH, tokens, layer.gate_proj.path);
  const at::Tensor gate_TI = layer.gate_proj.forward(x_TH, Output::kComputed, whole);
  const at::Tensor up_TI = layer.up_proj.forward(x_TH, Output::kComputed, whole);
  const at::Tensor part_TH = layer.down_proj.forward(recomputable_swiglu(gate_TI, up_TI), run.output, part);
  return {{residual_TH, split_.sum(part_TH, tokens, layer.down_proj.path, run.output)}, entry_TH};
}

LayerResult Decoder::run_layer(size_t index, const LayerState& input, const LayerRun& run) const {
  const int64_t unit = unit_of_layer(index);
  const bool again = run.output == Output::kUnset;
  LayerResult result = forward_layer(layers_[index], hooks_.enter(unit, input, again), run);
  result.state.block_TH = hooks_.leave(unit, result.state.block_TH, again);
  return result;
}

LayerState Decoder::checkpoint_layer(size_t index, const LayerState& input,
                                     const std::shared_ptr<const PackedBatch>& batch, const RotaryTable& rotary) const {
  // The table is held by value: a longer batch may replace the cache's before backward runs.
  auto layer = [this, index, batch, rotary, output = Output::kComputed,
                kept = KeptAttention()](const LayerState& state) mutable {
    return run_layer(index, state, {*batch, rotary, std::exchange(output, Output::kUnset), &kept});
  };
  return checkpointed(std::move(layer), input);
}

LayerState Decoder::run_layers(const PackedBatch& batch, const at::Tensor& input_TH) {
  const RotaryTable rotary = rotary_->table(batch.longest_row);
  const auto shared_batch = std::make_shared<const PackedBatch>(batch);
  LayerState state{split_.split_tokens(begins_model() ? embed(batch) : input_TH, embedding_.path), {}};
  int64_t to_checkpoint = at::GradMode::is_enabled() ? checkpointed_layers_ : 0;
  bool keeps_activations = state.residual_TH.requires_grad();
  for (size_t i = 0; i < layers_.size(); ++i) {
    keeps_activations = keeps_activations || layers_[i].trains();
    if (keeps_activations && to_checkpoint > 0) {
      --to_checkpoint;
      state = checkpoint_layer(i, state, shared_batch, rotary);
    } else {
      state = run_layer(i, state, {batch, rotary}).state;
    }
  }
  return state;
}

at::Tensor Decoder::final_hidden(const PackedBatch& batch, const at::Tensor& input_TH) {
  const LayerState state = hooks_.enter(last_unit(), run_layers(batch, input_TH), /*again=*/false);
  const at::Tensor normed_TH = add_norm(state, final_norm_).normed_TH.value;
  return split_.join_tokens(normed_TH, batch.tokens(), final_norm_.path);
}

at::Tensor Decoder::logits(const PackedBatch& batch) {
  TORCH_CHECK(is_whole(), "a part of a model has no logits of ids");
  const at::Tensor logits_TV = head().forward(final_hidden(batch, {}));
  return hooks_.leave(last_unit(), config_.logits_divisor == 1.0 ? logits_TV : logits_TV / config_.logits_divisor);
}

at::Tensor Decoder::forward(const PackedBatch& batch, const at::Tensor& input_TH, double gradient) {
  if (!ends_model()) {
    const LayerState state = run_layers(batch, input_TH);
    const at::Tensor stream_TH = add_scaled(state.residual_TH, state.block_TH, config_.residual_multiplier);
    return split_.join_tokens(stream_TH, batch.tokens(), "residual stream");
  }
  const at::Tensor hidden_TH = final_hidden(batch, input_TH);
  return hooks_.leave(last_unit(), linear_cross_entropy_sum(hidden_TH, head().weight_OI, batch.supervised_positions_S,
                                                            batch.supervised_targets_S, config_.logits_divisor,
                                                            head().packed, gradient));
}

void Decoder::set_checkpointed_layers(int64_t count) {
  checkpointed_layers_ = std::clamp<int64_t>(count - first_layer_, 0, num_layers());
}

ActivationCost Decoder::activation_cost(int64_t tokens, int64_t longest) const {
  const bool input_trains = !begins_model() || embedding_.weight_OI.requires_grad() || prompt_PH_.defined();
  const at::Tensor head_VH = ends_model() ? head().weight_OI : at::Tensor();
  return decoder_activation_cost(config_, input_trains, layers_, head_VH, tokens, longest);
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
  if (prompt_PH_.defined()) {
    units.front().parameters.push_back({kPromptName, &prompt_PH_});
  }
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

std::vector<Linear*> Decoder::linears_and_head() {
  std::vector<Linear*> all = linears();
  if (ends_model()) {
    all.push_back(config_.tie_word_embeddings ? &embedding_ : &untied_head_);
  }
  return all;
}

void Decoder::set_training(bool on) {
  training_ = on;
  for (Linear* linear : linears()) {
    linear->training = on;
  }
}

}  // namespace assay::engine
