// The vision transformer (Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words"): a pre-norm encoder over patches
// with a linear head on the class token.
//
// Shapes: B images, L tokens of an image, T = B L tokens of the batch, H hidden, I intermediate.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/kernels/ops.h"
#include "engine/model/families.h"
#include "engine/model/gradient_checkpointing.h"
#include "engine/model/image_classifier.h"
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

class Vit : public ImageClassifier, public Shardable {
 public:
  /// `dtype` is that of the products, of what they take in and of what they give. Parameters of another dtype than
  /// that are float32: they are rounded for each product, and norms, softmax, loss and the residual stream stay in
  /// float32 ("mixed precision"; Micikevicius et al. 2017).
  Vit(VitConfig config, const ParameterSource& parameters, at::ScalarType dtype);

  at::Tensor logits(const at::Tensor& pixels_BCHW) override;
  at::Tensor loss(const at::Tensor& pixels_BCHW, const at::Tensor& labels_B) override;
  std::vector<NamedTensor> parameters() const override;
  const VitConfig& config() const override { return config_; }
  ActivationCost activation_cost(int64_t images) const override;
  void set_checkpointed_layers(int64_t count) override { checkpointed_layers_ = count; }
  void set_training(bool) override {}
  double forward_flops() const override;

  /// "vit.embeddings", "vit.encoder.layer.0" and so on, and "classifier" with the last norm.
  std::vector<ParameterUnit> units() override;
  void set_unit_hooks(UnitHooks* hooks) override { hooks_.set(hooks); }

 private:
  int64_t unit_of_layer(size_t index) const { return static_cast<int64_t>(index) + 1; }
  int64_t last_unit() const { return unit_of_layer(layers_.size()); }
  at::Tensor embed(const at::Tensor& pixels_BCHW) const;
  at::Tensor attend(const VitLayer& layer, const at::Tensor& normed_TH, const RecomputePtr& again,
                    const PackedBatch& batch) const;
  at::Tensor first_norm(const VitLayer& layer, const LayerState& input, at::Tensor& entry_TH) const;
  LayerResult forward_layer(size_t index, const LayerState& input, const PackedBatch& batch, bool again) const;
  LayerState run_layer(size_t index, const LayerState& input, const std::shared_ptr<const PackedBatch>& batch,
                       bool checkpoint) const;
  at::Tensor norm(const LayerNormParameters& norm, const at::Tensor& x_TH) const;
  RecomputePtr norm_again(const LayerNormParameters& norm, const at::Tensor& x_TH) const;
  at::Tensor class_rows(const at::Tensor& x_TH) const;

  VitConfig config_;
  at::ScalarType dtype_;
  PatchEmbedding patches_;
  std::vector<VitLayer> layers_;  ///< never resized: units() hands out pointers into it
  LayerNormParameters final_norm_;
  Linear classifier_;
  HookedUnits hooks_;
  int64_t checkpointed_layers_ = 0;
};

}  // namespace assay::engine
