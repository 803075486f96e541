// What a Hugging Face config.json says about a vision transformer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernels/gelu_form.h"
#include "engine/model/image_config.h"

namespace assay::engine {

/// The values of transformers' ViTConfig.
struct VitConfig : ImageModelConfig {
  int64_t patch_size = 0;  ///< divides image_size
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_heads = 0;  ///< divides hidden_size
  GeluForm activation = GeluForm::kErf;
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  bool qkv_bias = true;

  int64_t head_dim() const { return hidden_size / num_heads; }
  int64_t patches() const { return image_size / patch_size * (image_size / patch_size); }
  /// Of one image, class token included.
  int64_t tokens() const { return patches() + 1; }
};

/// Reads `model_dir`/config.json. Throws StatusError (one line that names the file and the key) when it is missing, is
/// not of a ViT, or asks for what is not supported: dropout, regression, rectangular images.
VitConfig read_vit_config(const std::string& model_dir);

/// The same for the text of a config.json; `source` names it in messages.
VitConfig parse_vit_config(std::string_view json, const std::string& source);

/// The config of a model with these classes instead; `id2label` and `label2id` of its JSON name them.
VitConfig with_labels(VitConfig config, const std::vector<std::string>& names);

}  // namespace assay::engine
