// The interface of single-device image classifiers. A model knows nothing of ranks or optimisers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/image_config.h"

namespace assay::engine {

class ImageClassifier {
 public:
  virtual ~ImageClassifier() = default;

  /// Of `pixels` [B, channels, height, width], float32 and normalised: [B, labels] in the dtype of the products.
  virtual at::Tensor logits(const at::Tensor& pixels_BCHW) = 0;
  /// Mean cross-entropy of the int64 `labels_B`, a float32 scalar.
  virtual at::Tensor loss(const at::Tensor& pixels_BCHW, const at::Tensor& labels_B) = 0;

  /// Under the names of the Hugging Face checkpoint, in the order of transformers' modules.
  virtual std::vector<NamedTensor> parameters() const = 0;
  virtual const ImageModelConfig& config() const = 0;

  /// What a batch of `images` needs.
  virtual ActivationCost activation_cost(int64_t images) const = 0;
  /// Of the layers, the first `count` keep only their input and run again in backward. Gradients are the same to the
  /// bit.
  virtual void set_checkpointed_layers(int64_t count) = 0;
  /// Whether dropout is active, where a model has any; on at first.
  virtual void set_training(bool on) = 0;

  /// Floating-point operations of the forward pass of one image as the model is defined: products and attention, a
  /// multiplication and an addition counted as two. Backward takes twice as many, and gradient checkpointing runs the
  /// layers' forward once more.
  virtual double forward_flops() const = 0;
};

}  // namespace assay::engine
