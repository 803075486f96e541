// One layer of a decoder: its weights under the names of the checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/causal_lm.h"

namespace assay::engine {

/// The weight of a norm under its Hugging Face module path ("model.layers.0.input_layernorm").
struct RmsNorm {
  std::string path;
  at::Tensor weight_H;
};

struct DecoderLayer {
  /// Without parameters: each belongs at its place(). `path` is "model.layers.0".
  explicit DecoderLayer(const std::string& path);

  std::string attention_path;
  RmsNorm input_norm;
  Linear q_proj, k_proj, v_proj, o_proj;
  RmsNorm q_norm, k_norm;  ///< of each head; undefined where the family has none
  RmsNorm post_attention_norm;
  Linear gate_proj, up_proj, down_proj;
  int64_t sliding_window = 0;  ///< keys that a query sees, its own included; 0: all earlier ones

  std::vector<Linear*> linears();
  std::vector<const Linear*> linears() const;
  std::vector<const RmsNorm*> norms() const;

  /// Whether anything of it has a gradient.
  bool trains() const;

  /// Of the parameter with this name; throws c10::Error where the layer has no part of it.
  at::Tensor& place(std::string_view name);
};

}  // namespace assay::engine
