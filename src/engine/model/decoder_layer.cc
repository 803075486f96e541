#include "engine/model/decoder_layer.h"

#include <algorithm>

namespace assay::engine {

DecoderLayer::DecoderLayer(const std::string& path)
    : attention_path(path + ".self_attn"),
      input_norm{path + ".input_layernorm", {}},
      q_proj{.path = attention_path + ".q_proj"},
      k_proj{.path = attention_path + ".k_proj"},
      v_proj{.path = attention_path + ".v_proj"},
      o_proj{.path = attention_path + ".o_proj"},
      q_norm{attention_path + ".q_norm", {}},
      k_norm{attention_path + ".k_norm", {}},
      post_attention_norm{path + ".post_attention_layernorm", {}},
      gate_proj{.path = path + ".mlp.gate_proj"},
      up_proj{.path = path + ".mlp.up_proj"},
      down_proj{.path = path + ".mlp.down_proj"} {}

std::vector<Linear*> DecoderLayer::linears() {
  return {&q_proj, &k_proj, &v_proj, &o_proj, &gate_proj, &up_proj, &down_proj};
}

std::vector<const Linear*> DecoderLayer::linears() const {
  return {&q_proj, &k_proj, &v_proj, &o_proj, &gate_proj, &up_proj, &down_proj};
}

std::vector<const RmsNorm*> DecoderLayer::norms() const {
  return {&input_norm, &q_norm, &k_norm, &post_attention_norm};
}

bool DecoderLayer::trains() const {
  return std::ranges::any_of(norms(), [](const RmsNorm* norm) { return norm->weight_H.requires_grad(); }) ||
         std::ranges::any_of(linears(), &Linear::trains);
}

at::Tensor& DecoderLayer::place(std::string_view name) {
  for (Linear* linear : linears()) {
    if (name == linear->path + ".weight") {
      return linear->weight_OI;
    }
    if (name == linear->path + ".bias") {
      return linear->bias_O.emplace();
    }
  }
  for (RmsNorm* norm : {&input_norm, &q_norm, &k_norm, &post_attention_norm}) {
    if (name == norm->path + ".weight") {
      return norm->weight_H;
    }
  }
  TORCH_CHECK(false, "a decoder layer has no parameter ", name);
}

}  // namespace assay::engine
