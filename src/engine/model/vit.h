// The vision transformer (Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words"): a pre-norm encoder over patches
// with a linear head on the class token.
//
// Shapes: B images, L tokens of an image, T = B L tokens of the batch, H hidden, I intermediate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/kernels/ops.h"
#include "engine/model/gradient_checkpointing.h"
#include "engine/model/image_classifier.h"
#include "engine/model/model_part.h"
#include "engine/model/parameter_source.h"
#include "engine/model/split_hooks.h"
#include "engine/model/unit_hooks.h"
#include "engine/model/vit_config.h"

namespace assay::engine {

/// A layer norm under its Hugging Face module path.
struct LayerNormParameters {
  std::string path;
  at::Tensor weight_H;
  at::Tensor bias_H;
};

struct VitLayer {
  Linear query, key, value, output;
  LayerNormParameters norm_before, norm_after;
  Linear intermediate, down;
};

SplitRules vit_split_rules();

class Vit : public ImageClassifier, public Splittable {
 public:
  /// `dtype` is that of the products, of what they take in and of what they give. Parameters of another dtype than
  /// that are float32: they are rounded for each product, and norms, softmax, loss and the residual stream stay in
  /// float32 ("mixed precision"; Micikevicius et al. 2017).
  ///
  /// `part`: what is built of the model. Query, key, value and the MLP's first product may have fewer rows than asked
  /// for (whole heads), and the products after them as many columns; a bias may be undefined: there is none then. With
  /// such weights set_split_hooks() must add the parts up.
  Vit(VitConfig config, const ParameterSource& parameters, at::ScalarType dtype, ModelPart part = {});

  at::Tensor logits(const at::Tensor& pixels_BCHW) override;
  at::Tensor loss(const at::Tensor& pixels_BCHW, const at::Tensor& labels_B) override;
  /// The forward pass of the part that this model is: of pixels where it begins the model, else of the residual stream
  /// [T, H] that the part before it gave. Logits where it ends the model, else the residual stream.
  at::Tensor forward(const at::Tensor& input);
  /// Mean cross-entropy in float32.
  static at::Tensor loss_of(const at::Tensor& logits_BC, const at::Tensor& labels_B);

  bool begins_model() const { return first_layer_ == 0; }
  bool ends_model() const { return first_layer_ + num_layers() == config_.num_layers; }
  int64_t first_layer() const { return first_layer_; }
  /// Of this part.
  int64_t num_layers() const { return static_cast<int64_t>(layers_.size()); }
  /// The dtype of the residual stream.
  at::ScalarType residual_dtype() const { return layers_.front().norm_before.weight_H.scalar_type(); }
  std::vector<NamedTensor> parameters() const override;
  const VitConfig& config() const override { return config_; }
  ActivationCost activation_cost(int64_t images) const override;
  void set_checkpointed_layers(int64_t count) override { checkpointed_layers_ = count; }
  void set_training(bool) override {}
  double forward_flops() const override;

  /// Of "vit.embeddings", "vit.encoder.layer.0" and so on, and "classifier" with the last norm, those that are here.
  std::vector<ParameterUnit> units() override;
  void set_unit_hooks(UnitHooks* hooks) override { hooks_.set(hooks); }
  SplitRules split_rules() const override { return vit_split_rules(); }
  void set_split_hooks(SplitHooks* hooks) override { split_.set(hooks); }

 private:
  int64_t unit_of_layer(size_t index) const { return static_cast<int64_t>(index) + (begins_model() ? 1 : 0); }
  int64_t last_unit() const { return unit_of_layer(layers_.size()); }
  int64_t heads() const { return layers_.front().query.weight_OI.size(0) / config_.head_dim(); }
  at::Tensor classify(const LayerState& state) const;
  at::Tensor embed(const at::Tensor& pixels_BCHW) const;
  at::Tensor attend(const VitLayer& layer, const Recomputable& x_TH, const PackedBatch& batch) const;
  at::Tensor first_norm(const VitLayer& layer, const LayerState& input, at::Tensor& entry_TH) const;
  /// The model's last layer, which goes on with class tokens alone.
  bool is_last(size_t index) const { return ends_model() && index + 1 == layers_.size(); }
  /// For the hooks of the layer: all ranks have all class tokens.
  int64_t tokens_to_divide(size_t index, const PackedBatch& batch) const;
  /// The sum that `state` stands for, of all tokens, where ranks divide these; else `state`.
  LayerState with_all_tokens(const LayerState& state, const PackedBatch& batch) const;
  LayerResult forward_layer(size_t index, const LayerState& input, const PackedBatch& batch, bool again) const;
  LayerState run_layer(size_t index, const LayerState& input, const std::shared_ptr<const PackedBatch>& batch,
                       bool checkpoint) const;
  at::Tensor norm(const LayerNormParameters& norm, const at::Tensor& x_TH) const;
  RecomputePtr norm_again(const LayerNormParameters& norm, const at::Tensor& x_TH) const;
  at::Tensor class_rows(const at::Tensor& x_TH) const;

  VitConfig config_;
  at::ScalarType dtype_;
  int64_t first_layer_;
  PatchEmbedding patches_;          ///< where this part begins the model
  std::vector<VitLayer> layers_;    ///< at least one; never resized: units() hands out pointers into it
  LayerNormParameters final_norm_;  ///< with the classifier, where this part ends the model
  Linear classifier_;
  HookedUnits hooks_;
  SplitProducts split_;
  int64_t checkpointed_layers_ = 0;
};

}  // namespace assay::engine
