// What a layer of Llama is but for its MLP: pre-norm attention with rotary positions, and the norm before the MLP.
#pragma once

#include <string>
#include <vector>

#include "engine/model/decoder_layer.h"

namespace assay::engine {

class RotaryLayer : public DecoderLayer {
 public:
  LayerResult forward(const LayerState& input, const LayerRun& run) const override;

 protected:
  /// `mlp_linears`: of the derived layer's MLP.
  RotaryLayer(const std::string& path, const std::vector<Linear*>& mlp_linears);

  /// What the MLP makes of the normed residual stream, before it is added to it.
  virtual at::Tensor mlp(const Recomputable& x_TH, const LayerRun& run) const = 0;

  /// Those of queries and keys.
  LayerWidths attention_widths() const;

 private:
  at::Tensor heads(const Recomputable& x_TH, const LayerRun& run) const;

  Norm input_norm_;
  Linear q_proj_, k_proj_, v_proj_, o_proj_;
  Norm q_norm_, k_norm_;  ///< of each head; undefined where the family has none
  Norm post_attention_norm_;
};

}  // namespace assay::engine
