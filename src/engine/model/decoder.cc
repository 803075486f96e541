#include "engine/model/decoder.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/model/adapters.h"
#include "engine/model/decoder_forecast.h"
#include "engine/model/embedding_noise.h"
#include "engine/model/feature_dropout.h"

namespace assay::engine {
namespace {

constexpr std::array kDecoderSplitRules = {
    SplitRule{".q_proj.weight", TensorSplit::kRows},
    SplitRule{".q_proj.bias", TensorSplit::kRows},
    SplitRule{".k_proj.weight", TensorSplit::kRows},
    SplitRule{".k_proj.bias", TensorSplit::kRows},
    SplitRule{".v_proj.weight", TensorSplit::kRows},
    SplitRule{".v_proj.bias", TensorSplit::kRows},
    SplitRule{".q_norm.weight", TensorSplit::kShared},
    SplitRule{".k_norm.weight", TensorSplit::kShared},
    SplitRule{".o_proj.weight", TensorSplit::kColumns},
    SplitRule{".o_proj.bias", TensorSplit::kFirstRank},
    SplitRule{".gate_proj.weight", TensorSplit::kRows},
    SplitRule{".gate_proj.bias", TensorSplit::kRows},
    SplitRule{".up_proj.weight", TensorSplit::kRows},
    SplitRule{".up_proj.bias", TensorSplit::kRows},
    SplitRule{".down_proj.weight", TensorSplit::kColumns},
    SplitRule{".down_proj.bias", TensorSplit::kFirstRank},
    SplitRule{".c_fc.weight", TensorSplit::kRows},
    SplitRule{".c_fc.bias", TensorSplit::kRows},
    SplitRule{".query_key_value.weight", TensorSplit::kRows},
    SplitRule{".query_key_value.bias", TensorSplit::kRows},
    SplitRule{".self_attention.dense.weight", TensorSplit::kColumns},
    SplitRule{".self_attention.dense.bias", TensorSplit::kFirstRank},
    SplitRule{".dense_h_to_4h.weight", TensorSplit::kRows},
    SplitRule{".dense_h_to_4h.bias", TensorSplit::kRows},
    SplitRule{".dense_4h_to_h.weight", TensorSplit::kColumns},
    SplitRule{".dense_4h_to_h.bias", TensorSplit::kFirstRank},
    SplitRule{".mlp.c_proj.weight", TensorSplit::kColumns},
    SplitRule{".mlp.c_proj.bias", TensorSplit::kFirstRank},
    // Of Mixtral's experts a rank has part of the features, of GraniteMoe's some of them.
    SplitRule{".w1.weight", TensorSplit::kRows},
    SplitRule{".w3.weight", TensorSplit::kRows},
    SplitRule{".w2.weight", TensorSplit::kColumns},
    SplitRule{"moe.gate.weight", TensorSplit::kShared},
    SplitRule{".shared_mlp.input_linear.weight", TensorSplit::kReplicated},
    SplitRule{".shared_mlp.output_linear.weight", TensorSplit::kReplicated},
    SplitRule{".input_linear.weight", TensorSplit::kRows},
    SplitRule{".output_linear.weight", TensorSplit::kRows},
    SplitRule{".router.layer.weight", TensorSplit::kShared},
};

/// Those of each head have parts; that of Mamba-2 stands within a block.
bool is_norm_between_blocks(std::string_view name) {
  const bool is_norm = name.find("norm.") != std::string_view::npos || name.find(".ln_") != std::string_view::npos;
  const bool is_elsewhere =
      name.find("embeddings") != std::string_view::npos || name.find(".mamba.") != std::string_view::npos;
  return is_norm && !is_elsewhere && split_of(kDecoderSplitRules, name) == TensorSplit::kReplicated;
}

}  // namespace

SplitRules decoder_split_rules() {
  return kDecoderSplitRules;
}

Decoder::Decoder(ModelConfig config, const ParameterSource& parameters, ModelPart part)
    : config_(std::move(config)),
      first_layer_(part.first_layer),
      embedding_{.path = architecture::EmbeddingPath(config_)},
      entry_norm_{.path = architecture::EntryNormPath(config_)},
      final_norm_{.path = architecture::FinalNormPath(config_)} {
  const int64_t end = part.layers < 0 ? config_.num_layers : first_layer_ + part.layers;
  TORCH_CHECK(first_layer_ >= 0 && first_layer_ < end && end <= config_.num_layers, "layers ", first_layer_, " to ",
              end, " are no part of a model with ", config_.num_layers);
  const bool ends = end == config_.num_layers;
  if (begins_model() || (ends && config_.tie_word_embeddings)) {
    take_embedding(parameters, /*is_part=*/end - first_layer_ < config_.num_layers);
  }
  for (int64_t i = first_layer_; i < end; ++i) {
    take_layer(parameters, i);
  }
  if (ends) {
    take_head(parameters);
  }
  if (architecture::HasRotaryPositions(config_)) {
    rotary_.emplace(config_, layers_.front()->options().device());
  }
}

void Decoder::take_embedding(const ParameterSource& parameters, bool is_part) {
  const ParameterSpec spec = architecture::EmbeddingParameter(config_);
  embedding_.weight_OI = parameters(spec);
  // Where the other end of the model has it too, the first one counts its gradient.
  units_.push_back({embedding_.path,
                    {{.name = spec.name,
                      .tensor = &embedding_.weight_OI,
                      .counts_in_norm = begins_model(),
                      .at_both_ends = config_.tie_word_embeddings && is_part}},
                    {}});
  if (begins_model()) {
    for (const ParameterSpec& entry : architecture::EntryParameters(config_)) {
      take(parameters, entry, [&]() -> at::Tensor& {
        if (entry.name == entry_norm_.path + ".weight") {
          return entry_norm_.weight_H;
        }
        return entry.name == entry_norm_.path + ".bias" ? entry_norm_.bias_H : positions_PH_;
      });
    }
  }
}

void Decoder::take_layer(const ParameterSource& parameters, int64_t index) {
  const std::string path = architecture::LayerPath(config_, index);
  DecoderLayer& layer = *layers_.emplace_back(make_decoder_layer(config_, path, index));
  layer.sliding_window = config_.layer_windows[static_cast<size_t>(index)];
  units_.push_back({path, {}, {}});
  for (const ParameterSpec& spec : architecture::LayerParameters(config_, index)) {
    take(parameters, spec, [&]() -> at::Tensor& { return layer.place(spec.name); });
  }
}

void Decoder::take_head(const ParameterSource& parameters) {
  units_.push_back({untied_head_.path, {}, {}});
  for (const ParameterSpec& spec : architecture::HeadParameters(config_)) {
    take(parameters, spec, [&]() -> at::Tensor& {
      if (spec.name == final_norm_.path + ".weight") {
        return final_norm_.weight_H;
      }
      return spec.name == final_norm_.path + ".bias" ? final_norm_.bias_H : untied_head_.weight_OI;
    });
  }
  if (config_.tie_word_embeddings) {
    units_.back().also_uses.push_back(0);
  }
}

void Decoder::take(const ParameterSource& parameters, const ParameterSpec& spec,
                   const std::function<at::Tensor&()>& place_of) {
  if (const at::Tensor parameter = parameters(spec); parameter.defined()) {
    at::Tensor& place = place_of();
    place = parameter;
    units_.back().parameters.push_back(
        {.name = spec.name, .tensor = &place, .between_blocks = is_norm_between_blocks(spec.name)});
  }
}

at::Tensor Decoder::embed(const PackedBatch& batch, bool goes_on) const {
  const at::Tensor ids_T = hooks_.enter(0, batch.ids_T);
  at::Tensor x_TH = engine::embedding(ids_T, embedding_.weight_OI, config_.embedding_multiplier);
  if (training_) {
    x_TH = add_noise(x_TH, batch, regularisation_.neftune_alpha, config_.embedding_multiplier);
  }
  if (config_.pad_token_id >= 0 && x_TH.requires_grad()) {
    // nn.Embedding(padding_idx=...) gives that row no gradient, also where the id stands among real tokens.
    const at::Tensor is_padding_T1 = ids_T.eq(config_.pad_token_id).unsqueeze(-1);
    x_TH = at::where(is_padding_T1, x_TH.detach(), x_TH);
  }
  if (prompt_PH_.defined() && !goes_on) {
    x_TH = put_prompt(x_TH, batch);
  }
  if (entry_norm_.weight_H.defined()) {
    x_TH = layer_norm(x_TH, entry_norm_.weight_H, entry_norm_.bias_H, config_.norm_eps);
  }
  if (positions_PH_.defined()) {
    x_TH = add_scaled(x_TH, engine::embedding(batch.positions_T, positions_PH_));
  }
  x_TH = drop_features(x_TH, training_ ? config_.embedding_dropout : 0, batch.draw_keys_T, "transformer.drop");
  return hooks_.leave(0, x_TH);
}

at::Tensor Decoder::put_prompt(const at::Tensor& x_TH, const PackedBatch& batch) const {
  TORCH_CHECK(batch.prompt_length == prompt_PH_.size(0), "a prompt of ", prompt_PH_.size(0), " in rows with room for ",
              batch.prompt_length);
  // Its gradient is added up over the rows before it is rounded to the model's dtype.
  const at::Tensor rows_PH = prompt_PH_.repeat({batch.rows(), 1}).to(x_TH.scalar_type()) * config_.embedding_multiplier;
  return x_TH.index_copy(0, batch.prompt_places, rows_PH);
}

LayerRun Decoder::layer_run(const Pass& pass, Output output, KeptAttention* kept) const {
  return {.config = config_,
          .split = split_,
          .training = training_,
          .batch = pass.batch,
          .rotary = pass.rotary,
          .output = output,
          .kept = kept,
          .balance = pass.balance};
}

LayerResult Decoder::run_layer(size_t index, const LayerState& input, const LayerRun& run) const {
  const int64_t unit = unit_of_layer(index);
  const bool again = run.output == Output::kUnset;
  LayerResult result = layers_[index]->forward(hooks_.enter(unit, input, again), run);
  result.state.block_TH = hooks_.leave(unit, result.state.block_TH, again);
  return result;
}

LayerState Decoder::checkpoint_layer(size_t index, const LayerState& input,
                                     const std::shared_ptr<const Pass>& pass) const {
  auto layer = [this, index, pass, output = Output::kComputed,
                kept = KeptAttention()](const LayerState& state) mutable {
    return run_layer(index, state, layer_run(*pass, std::exchange(output, Output::kUnset), &kept));
  };
  return checkpointed(std::move(layer), input);
}

Decoder::Pass Decoder::pass_over(const PackedBatch& batch) {
  return {batch, rotary_ ? rotary_->table(batch.longest_row) : RotaryTable()};
}

LayerState Decoder::run_layers(Pass given, const at::Tensor& input_TH) const {
  const auto pass = std::make_shared<const Pass>(std::move(given));
  const bool goes_on = pass->cache != nullptr && pass->cache->tokens > 0;
  const at::Tensor stream_TH = begins_model() ? embed(pass->batch, goes_on) : input_TH;
  LayerState state{split_.split_tokens(stream_TH, embedding_.path), {}};
  int64_t to_checkpoint = at::GradMode::is_enabled() ? checkpointed_layers_ : 0;
  bool keeps_activations = state.residual_TH.requires_grad();
  for (size_t i = 0; i < layers_.size(); ++i) {
    keeps_activations = keeps_activations || layers_[i]->trains();
    if (keeps_activations && to_checkpoint > 0) {
      --to_checkpoint;
      state = checkpoint_layer(i, state, pass);
    } else {
      LayerRun run = layer_run(*pass);
      run.cache = pass->cache == nullptr ? nullptr : &pass->cache->layers[i];
      state = run_layer(i, state, run).state;
    }
  }
  return state;
}

at::Tensor Decoder::final_hidden(Pass pass, const at::Tensor& input_TH) const {
  const int64_t tokens = pass.batch.tokens();
  const LayerState state = hooks_.enter(last_unit(), run_layers(std::move(pass), input_TH), /*again=*/false);
  const at::Tensor normed_TH =
      normed_sum(state.residual_TH, state.block_TH, final_norm_, config_.norm_eps, config_.residual_multiplier)
          .normed_TH.value;
  return split_.join_tokens(normed_TH, tokens, final_norm_.path);
}

at::Tensor Decoder::logits_of(const at::Tensor& hidden_TH) const {
  const at::Tensor logits_TV = head().forward(hidden_TH);
  return config_.logits_divisor == 1.0 ? logits_TV : logits_TV / config_.logits_divisor;
}

at::Tensor Decoder::logits(const PackedBatch& batch) {
  TORCH_CHECK(is_whole(), "a part of a model has no logits of ids");
  return hooks_.leave(last_unit(), logits_of(final_hidden(pass_over(batch), {})));
}

at::Tensor Decoder::next_logits(const PackedBatch& batch, DecodingCache* cache) {
  TORCH_CHECK(is_whole(), "a part of a model has no logits of ids");
  Pass pass = pass_over(batch);
  pass.cache = cache;
  if (cache != nullptr) {
    cache->layers.resize(layers_.size());
  }
  const at::Tensor hidden_TH = final_hidden(std::move(pass), {});
  if (cache != nullptr) {
    cache->tokens += batch.tokens();
  }
  return hooks_.leave(last_unit(), logits_of(hidden_TH.narrow(0, batch.tokens() - 1, 1))).squeeze(0);
}

at::Tensor Decoder::forward(const PackedBatch& batch, const at::Tensor& input_TH, double gradient) {
  TORCH_CHECK(is_whole() || router_loss_weight(batch) == 0, "the routers' loss is of all layers together");
  if (!ends_model()) {
    const LayerState state = run_layers(pass_over(batch), input_TH);
    const at::Tensor stream_TH = add_scaled(state.residual_TH, state.block_TH, config_.residual_multiplier);
    return split_.join_tokens(stream_TH, batch.tokens(), "residual stream");
  }
  const double routers = router_loss_weight(batch);
  const auto balance = routers > 0 ? std::make_shared<RouterBalance>(gradient * routers) : nullptr;
  Pass pass = pass_over(batch);
  pass.balance = balance;
  const at::Tensor hidden_TH = final_hidden(std::move(pass), input_TH);
  const at::Tensor loss = linear_cross_entropy_sum(hidden_TH, head().weight_OI, batch.supervised_positions_S,
                                                   batch.supervised_targets_S, config_.logits_divisor, head().frozen,
                                                   gradient, training_ ? regularisation_.label_smoothing : 0);
  return hooks_.leave(last_unit(), balance ? loss + balance->loss() * routers : loss);
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
    for (const Adapter& adapter : adapters_of(layers_[i]->linears(), layers_[i]->stacks())) {
      std::vector<ParameterRef>& parameters = units[static_cast<size_t>(unit_of_layer(i))].parameters;
      parameters.push_back({adapter.a_name(), &adapter.tensors->a_rI});
      parameters.push_back({adapter.b_name(), &adapter.tensors->b_Or});
      if (adapter.dora != nullptr) {
        parameters.push_back({adapter.magnitude_name(), &adapter.dora->magnitude_O});
      }
    }
  }
  return units;
}

std::vector<Linear*> Decoder::linears() {
  std::vector<Linear*> all;
  for (const auto& layer : layers_) {
    all.insert(all.end(), layer->linears().begin(), layer->linears().end());
  }
  return all;
}

std::vector<ExpertStack*> Decoder::expert_stacks() {
  std::vector<ExpertStack*> all;
  for (const auto& layer : layers_) {
    all.insert(all.end(), layer->stacks().begin(), layer->stacks().end());
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
