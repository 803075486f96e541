// Vision transformers by name, and what a name or a folder stands for.
//
// As for language models (model_catalogue.h) the project ships a config.json only (share/models/NAME), so a run from a
// name starts with random weights; a folder brings its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::data {

/// The shape of a ViTForImageClassification: the keys of its config.json. Plain data.
struct VitShape {
  int64_t hidden_size = 768;
  int64_t num_hidden_layers = 12;
  int64_t num_attention_heads = 12;
  int64_t intermediate_size = 3072;
  int64_t image_size = 224;
  int64_t patch_size = 16;
  int64_t num_channels = 3;
  int64_t num_labels = 2;  ///< that of id2label, else the key of that name
  bool qkv_bias = true;

  /// Patches and the class token.
  int64_t tokens() const;
  int64_t parameters() const;
  /// Floating-point operations of the matrix products of one image's forward pass; a product of [m, k] and [k, n] is
  /// 2 m k n. A step takes three times this, and four times with gradient checkpointing of every layer.
  double forward_flops() const;
};

/// A model that can be built.
struct VisionModelRef {
  std::string name;  ///< the catalogue's name, or the folder as it was given
  std::string dir;   ///< a folder with config.json
  VitShape shape;
  bool has_weights = false;  ///< else the weights are random
  /// Of preprocessor_config.json, when the folder has one.
  std::array<double, 3> image_mean = {0.5, 0.5, 0.5};
  std::array<double, 3> image_std = {0.5, 0.5, 0.5};
};

struct VisionModel {
  std::string_view name;
  std::string_view description;
};

/// All names, smallest model first.
std::span<const VisionModel> VisionModels();

/// Whether `name_or_dir` is a vision transformer's: a name of this catalogue, or most like one of them, or a folder
/// whose config.json says so. Everything else is taken for a language model's.
bool IsVisionModel(const std::string& name_or_dir);

/// What `name_or_dir` stands for: a name of the catalogue, else a folder. Fails with one line for an unknown name (with
/// the nearest known one), a folder without a usable config.json, and a model of another family than vit.
Result<VisionModelRef> ResolveVisionModel(const std::string& name_or_dir, const std::string& share_dir);

}  // namespace assay::data
