// What a layer of Llama is but for its MLP: pre-norm attention with rotary positions, or without any.
#pragma once

#include <string>
#include <vector>

#include "engine/model/pre_norm_layer.h"

namespace assay::engine {

class RotaryLayer : public PreNormLayer {
 protected:
  /// `mlp_linears`: of the derived layer's MLP.
  RotaryLayer(const ModelConfig& config, const std::string& path, const std::vector<Linear*>& mlp_linears);

  /// Those of queries and keys.
  LayerWidths mixer_widths() const;

 private:
  at::Tensor mixed(const Recomputable& x_TH, const LayerRun& run) const override;
  at::Tensor heads(const Recomputable& x_TH, const LayerRun& run) const;

  Linear q_proj_, k_proj_, v_proj_, o_proj_;
  Norm q_norm_, k_norm_;  ///< of each head; undefined where the family has none
};

}  // namespace assay::engine
