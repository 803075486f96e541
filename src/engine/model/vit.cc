#include "engine/model/vit.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace assay::engine {
namespace {

/// Takes parameters from a source, under their checkpoint names.
class Builder {
 public:
  Builder(const VitConfig& config, const ParameterSource& parameters) : config_(config), parameters_(parameters) {}

  PatchEmbedding patches() const {
    const int64_t hidden = config_.hidden_size;
    const std::string prefix = "vit.embeddings.";
    PatchEmbedding result;
    result.class_token_11H = parameters_({prefix + "cls_token", {1, 1, hidden}});
    result.positions_1LH = parameters_({prefix + "position_embeddings", {1, config_.tokens(), hidden}});
    const std::string projection = prefix + "patch_embeddings.projection.";
    result.weight_HCPP =
        parameters_({projection + "weight", {hidden, config_.num_channels, config_.patch_size, config_.patch_size}});
    result.bias_H = parameters_({projection + "bias", {hidden}, Initializer::kZeros});
    return result;
  }

  VitLayer layer(int64_t index) const {
    const int64_t hidden = config_.hidden_size;
    const std::string prefix = fmt::format("vit.encoder.layer.{}.", index);
    VitLayer layer;
    layer.query = linear(prefix + "attention.attention.query", hidden, hidden, config_.qkv_bias);
    layer.key = linear(prefix + "attention.attention.key", hidden, hidden, config_.qkv_bias);
    layer.value = linear(prefix + "attention.attention.value", hidden, hidden, config_.qkv_bias);
    layer.output = linear(prefix + "attention.output.dense", hidden, hidden, true);
    layer.norm_before = norm(prefix + "layernorm_before");
    layer.norm_after = norm(prefix + "layernorm_after");
    layer.intermediate = linear(prefix + "intermediate.dense", config_.intermediate_size, hidden, true);
    layer.down = linear(prefix + "output.dense", hidden, config_.intermediate_size, true);
    return layer;
  }

  Linear linear(const std::string& path, int64_t out, int64_t in, bool bias) const {
    Linear linear;
    linear.path = path;
    linear.weight_OI = parameters_({path + ".weight", {out, in}});
    if (bias) {
      const at::Tensor bias_O = parameters_({path + ".bias", {out}, Initializer::kZeros});
      linear.bias_O = bias_O.defined() ? std::optional(bias_O) : std::nullopt;
    }
    return linear;
  }

  LayerNormParameters norm(const std::string& path) const {
    const std::vector<int64_t> shape = {config_.hidden_size};
    return {path, parameters_({path + ".weight", shape, Initializer::kOnes}),
            parameters_({path + ".bias", shape, Initializer::kZeros})};
  }

 private:
  const VitConfig& config_;
  const ParameterSource& parameters_;
};

constexpr std::array kVitSplitRules = {
    SplitRule{".query.weight", TensorSplit::kRows},
    SplitRule{".query.bias", TensorSplit::kRows},
    SplitRule{".key.weight", TensorSplit::kRows},
    SplitRule{".key.bias", TensorSplit::kRows},
    SplitRule{".value.weight", TensorSplit::kRows},
    SplitRule{".value.bias", TensorSplit::kRows},
    SplitRule{".intermediate.dense.weight", TensorSplit::kRows},
    SplitRule{".intermediate.dense.bias", TensorSplit::kRows},
    SplitRule{".output.dense.weight", TensorSplit::kColumns},
    SplitRule{".output.dense.bias", TensorSplit::kFirstRank},
};

/// Calls visit(name, tensor) for every parameter of a part of the model, in the order of transformers' modules. One
/// walk serves models that may change and models that may not.
template <typename Patches, typename Visit>
void visit_patches(Patches& patches, const Visit& visit) {
  visit("vit.embeddings.cls_token", patches.class_token_11H);
  visit("vit.embeddings.position_embeddings", patches.positions_1LH);
  visit("vit.embeddings.patch_embeddings.projection.weight", patches.weight_HCPP);
  visit("vit.embeddings.patch_embeddings.projection.bias", patches.bias_H);
}

template <typename Layer, typename Visit>
void visit_linear(Layer& linear, const Visit& visit) {
  visit(linear.path + ".weight", linear.weight_OI);
  if (linear.bias_O) {
    visit(linear.path + ".bias", *linear.bias_O);
  }
}

template <typename Norm, typename Visit>
void visit_norm(Norm& norm, const Visit& visit) {
  visit(norm.path + ".weight", norm.weight_H);
  visit(norm.path + ".bias", norm.bias_H);
}

template <typename Layer, typename Visit>
void visit_layer(Layer& layer, const Visit& visit) {
  visit_linear(layer.query, visit);
  visit_linear(layer.key, visit);
  visit_linear(layer.value, visit);
  visit_linear(layer.output, visit);
  visit_norm(layer.norm_before, visit);
  visit_norm(layer.norm_after, visit);
  visit_linear(layer.intermediate, visit);
  visit_linear(layer.down, visit);
}

/// Images as rows of a packed batch, all equally long.
PackedBatch rows_of_images(int64_t images, int64_t tokens, at::Device device) {
  PackedBatch batch;
  for (int64_t image = 0; image <= images; ++image) {
    batch.row_offsets.push_back(image * tokens);
  }
  batch.longest_row = tokens;
  batch.row_offsets_R1 = at::tensor(batch.row_offsets, at::kLong).to(device, at::kInt);
  return batch;
}

RecomputePtr gelu_again(const at::Tensor& x_TI, GeluForm form) {
  return c10::make_intrusive<Recompute>([x = x_TI.detach(), form] { return engine::gelu(x, form); });
}

}  // namespace

SplitRules vit_split_rules() {
  return kVitSplitRules;
}

Vit::Vit(VitConfig config, const ParameterSource& parameters, at::ScalarType dtype, ModelPart part)
    : config_(std::move(config)), dtype_(dtype), first_layer_(part.first_layer) {
  const int64_t end = part.layers < 0 ? config_.num_layers : first_layer_ + part.layers;
  TORCH_CHECK(first_layer_ >= 0 && first_layer_ < end && end <= config_.num_layers, "layers ", first_layer_, " to ",
              end, " are no part of a model with ", config_.num_layers);
  const Builder builder(config_, parameters);
  if (begins_model()) {
    patches_ = builder.patches();
  }
  layers_.reserve(static_cast<size_t>(end - first_layer_));
  for (int64_t i = first_layer_; i < end; ++i) {
    layers_.push_back(builder.layer(i));
  }
  if (ends_model()) {
    final_norm_ = builder.norm("vit.layernorm");
    classifier_ = builder.linear("classifier", config_.num_labels, config_.hidden_size, true);
  }
}

at::Tensor Vit::norm(const LayerNormParameters& norm, const at::Tensor& x_TH) const {
  return engine::layer_norm(x_TH, norm.weight_H, norm.bias_H, config_.layer_norm_eps, dtype_);
}

RecomputePtr Vit::norm_again(const LayerNormParameters& norm, const at::Tensor& x_TH) const {
  return c10::make_intrusive<Recompute>(
      [this, x = x_TH.detach(),
       detached = LayerNormParameters{norm.path, norm.weight_H.detach(), norm.bias_H.detach()}] {
        return this->norm(detached, x);
      });
}

at::Tensor Vit::embed(const at::Tensor& pixels_BCHW) const {
  const at::Tensor pixels = hooks_.enter(0, pixels_BCHW);
  return hooks_.leave(0, embed_patches(pixels, patches_, dtype_));
}

at::Tensor Vit::class_rows(const at::Tensor& x_TH) const {
  return x_TH.view({-1, config_.tokens(), x_TH.size(1)}).select(1, 0).contiguous();
}

at::Tensor Vit::attend(const VitLayer& layer, const Recomputable& x_TH, const PackedBatch& batch) const {
  const AttentionOptions options{.query_heads = heads(),
                                 .key_value_heads = heads(),
                                 .head_dim = config_.head_dim(),
                                 .scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim())),
                                 .causal = false};
  return engine::attention(layer.query.forward(x_TH), layer.key.forward(x_TH), layer.value.forward(x_TH), batch,
                           nullptr, options);
}

at::Tensor Vit::first_norm(const VitLayer& layer, const LayerState& input, at::Tensor& entry_TH) const {
  entry_TH = input.residual_TH;
  if (!input.block_TH.defined()) {
    return norm(layer.norm_before, entry_TH);
  }
  auto [sum_TH, normed_TH] = add_layer_norm(input.residual_TH, input.block_TH, layer.norm_before.weight_H,
                                            layer.norm_before.bias_H, config_.layer_norm_eps);
  entry_TH = sum_TH;
  return normed_TH;
}

LayerResult Vit::forward_layer(size_t index, const LayerState& input, const PackedBatch& batch, bool again) const {
  const VitLayer& layer = layers_[index];
  const int64_t unit = unit_of_layer(index);
  at::Tensor entry_TH;
  const int64_t tokens = tokens_to_divide(index, batch);
  const at::Tensor normed_TH = first_norm(layer, hooks_.enter(unit, input, again), entry_TH);
  at::Tensor attended_TH = attend(
      layer, split_.enter({normed_TH, norm_again(layer.norm_before, entry_TH)}, tokens, layer.query.path), batch);
  at::Tensor residual_TH = entry_TH;
  if (is_last(index)) {
    // The head reads the class tokens alone, and after the last attention no token reads another.
    attended_TH = class_rows(attended_TH);
    residual_TH = class_rows(residual_TH);
  }
  const auto [middle_TH, mlp_input_TH] =
      add_layer_norm(residual_TH, split_.sum(layer.output.forward(attended_TH), tokens, layer.output.path),
                     layer.norm_after.weight_H, layer.norm_after.bias_H, config_.layer_norm_eps);
  const at::Tensor hidden_TI = layer.intermediate.forward(
      split_.enter({mlp_input_TH, norm_again(layer.norm_after, middle_TH)}, tokens, layer.intermediate.path));
  const Output output = again ? Output::kUnset : Output::kComputed;
  const at::Tensor block_TH = layer.down.forward(
      {engine::gelu(hidden_TI, config_.activation), gelu_again(hidden_TI, config_.activation)}, output);
  return {{middle_TH, hooks_.leave(unit, split_.sum(block_TH, tokens, layer.down.path, output), again)}, entry_TH};
}

LayerState Vit::run_layer(size_t index, const LayerState& input, const std::shared_ptr<const PackedBatch>& batch,
                          bool checkpoint) const {
  if (!checkpoint) {
    return forward_layer(index, input, *batch, false).state;
  }
  auto layer = [this, index, batch, again = false](const LayerState& state) mutable {
    return forward_layer(index, state, *batch, std::exchange(again, true));
  };
  return checkpointed(std::move(layer), input);
}

at::Tensor Vit::forward(const at::Tensor& input) {
  const int64_t images = begins_model() ? input.size(0) : input.size(0) / config_.tokens();
  const auto batch = std::make_shared<const PackedBatch>(rows_of_images(images, config_.tokens(), input.device()));
  LayerState state{split_.split_tokens(begins_model() ? embed(input) : input, "vit.embeddings"), {}};
  const int64_t to_checkpoint = at::GradMode::is_enabled() ? checkpointed_layers_ : 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (is_last(i)) {
      state = with_all_tokens(state, *batch);
    }
    state = run_layer(i, state, batch, static_cast<int64_t>(i) < to_checkpoint);
  }
  return ends_model() ? classify(state) : with_all_tokens({state.residual_TH + state.block_TH, {}}, *batch).residual_TH;
}

int64_t Vit::tokens_to_divide(size_t index, const PackedBatch& batch) const {
  return is_last(index) ? 0 : batch.tokens();
}

LayerState Vit::with_all_tokens(const LayerState& state, const PackedBatch& batch) const {
  if (split_.token_parts() == 1) {
    return state;
  }
  const at::Tensor sum_CH = state.block_TH.defined() ? state.residual_TH + state.block_TH : state.residual_TH;
  return {split_.join_tokens(sum_CH, batch.tokens(), "residual stream"), {}};
}

at::Tensor Vit::classify(const LayerState& last) const {
  const LayerState state = hooks_.enter(last_unit(), last, false);
  const at::Tensor normed_BH = add_layer_norm(state.residual_TH, state.block_TH, final_norm_.weight_H,
                                              final_norm_.bias_H, config_.layer_norm_eps)
                                   .second;
  return hooks_.leave(last_unit(), classifier_.forward(normed_BH));
}

at::Tensor Vit::logits(const at::Tensor& pixels_BCHW) {
  TORCH_CHECK(begins_model() && ends_model(), "a part of a model has no logits of pixels");
  return forward(pixels_BCHW);
}

at::Tensor Vit::loss_of(const at::Tensor& logits_BC, const at::Tensor& labels_B) {
  return at::cross_entropy_loss(logits_BC.to(at::kFloat), labels_B);
}

at::Tensor Vit::loss(const at::Tensor& pixels_BCHW, const at::Tensor& labels_B) {
  return loss_of(logits(pixels_BCHW), labels_B);
}

ActivationCost Vit::activation_cost(int64_t images) const {
  const int64_t tokens = images * config_.tokens();
  const int64_t own_tokens = (tokens + split_.token_parts() - 1) / split_.token_parts();
  const auto element = static_cast<int64_t>(c10::elementSize(dtype_));
  const auto residual = static_cast<int64_t>(c10::elementSize(residual_dtype()));
  const int64_t hidden = config_.hidden_size;
  // Of this part of the features.
  const int64_t attended = layers_.front().query.weight_OI.size(0);
  const int64_t intermediate = layers_.front().intermediate.weight_OI.size(0);
  constexpr int64_t kStatistic = sizeof(float);
  ActivationCost cost;
  // Both residual sums with their norms' mean and deviation; q, k, v, the attention's output and statistics; what GELU
  // takes in.
  cost.layer_bytes.assign(static_cast<size_t>(num_layers()),
                          own_tokens * (residual * 2 * hidden + kStatistic * 4) +
                              tokens * (element * (4 * attended + intermediate) + kStatistic * heads()));
  cost.checkpointed_layer_bytes = own_tokens * residual * hidden;
  // The activation made again, its gradient and that of what GELU takes in; the gradients that meet at a norm.
  cost.working_bytes = tokens * (element * (3 * intermediate + hidden) + residual * 2 * hidden);
  cost.loss_bytes = ends_model() ? images * config_.num_labels * 3 * static_cast<int64_t>(sizeof(float)) : 0;
  return cost;
}

double Vit::forward_flops() const {
  const auto hidden = static_cast<double>(config_.hidden_size);
  const auto tokens = static_cast<double>(config_.tokens());
  const double pixels_of_patch = static_cast<double>(config_.num_channels * config_.patch_size * config_.patch_size);
  const double patches = 2 * static_cast<double>(config_.patches()) * pixels_of_patch * hidden;
  const double weights = 4 * hidden * hidden + 2 * hidden * static_cast<double>(config_.intermediate_size);
  const double layer = 2 * tokens * weights + 4 * tokens * tokens * hidden;
  return patches + layer * static_cast<double>(config_.num_layers) +
         2 * hidden * static_cast<double>(config_.num_labels);
}

std::vector<NamedTensor> Vit::parameters() const {
  std::vector<NamedTensor> named;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) { named.emplace_back(name, tensor); };
  if (begins_model()) {
    visit_patches(patches_, add);
  }
  for (const VitLayer& layer : layers_) {
    visit_layer(layer, add);
  }
  if (ends_model()) {
    visit_norm(final_norm_, add);
    visit_linear(classifier_, add);
  }
  return named;
}

std::vector<ParameterUnit> Vit::units() {
  std::vector<ParameterUnit> units;
  const auto add = [&](const std::string& name, at::Tensor& tensor) {
    units.back().parameters.push_back({.name = name, .tensor = &tensor});
  };
  if (begins_model()) {
    units.push_back({"vit.embeddings", {}, {}});
    visit_patches(patches_, add);
  }
  for (size_t i = 0; i < layers_.size(); ++i) {
    units.push_back({fmt::format("vit.encoder.layer.{}", first_layer_ + static_cast<int64_t>(i)), {}, {}});
    visit_layer(layers_[i], add);
    for (ParameterRef& parameter : units.back().parameters) {
      parameter.between_blocks = !is_last(i) && parameter.name.find(".layernorm_") != std::string::npos;
    }
  }
  if (ends_model()) {
    units.push_back({"classifier", {}, {}});
    visit_norm(final_norm_, add);
    visit_linear(classifier_, add);
  }
  return units;
}

}  // namespace assay::engine
