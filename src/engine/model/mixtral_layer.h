// A layer of Mixtral: a Llama's whose MLP is a mixture of experts (Jiang et al. 2024, "Mixtral of Experts").
#pragma once

#include <string>

#include "engine/model/experts.h"
#include "engine/model/rotary_layer.h"

namespace assay::engine {

class MixtralLayer : public RotaryLayer {
 public:
  MixtralLayer(const ModelConfig& config, const std::string& path);

  LayerWidths widths() const override;

 private:
  at::Tensor mlp(const Recomputable& x_TH, const LayerRun& run) const override;

  std::string experts_path_;
  Experts experts_;
};

}  // namespace assay::engine
