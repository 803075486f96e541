// A layer of Llama and its descendants: SwiGLU (Shazeer 2020) behind attention with rotary positions (Touvron et al.
// 2023, "LLaMA"). What each family has of its own stands in its file of src/architecture/families.
#pragma once

#include <string>

#include "engine/model/rotary_layer.h"

namespace assay::engine {

class LlamaLayer : public RotaryLayer {
 public:
  LlamaLayer(const ModelConfig& config, const std::string& path);

  LayerWidths widths() const override;

 private:
  at::Tensor mlp(const Recomputable& x_TH, const LayerRun& run) const override;

  Linear gate_proj_, up_proj_, down_proj_;
};

}  // namespace assay::engine
