// A layer that norms the residual stream before each of its two blocks: one that mixes tokens, and an MLP.
#pragma once

#include <string>
#include <vector>

#include "engine/model/decoder_layer.h"

namespace assay::engine {

class PreNormLayer : public DecoderLayer {
 public:
  LayerResult forward(const LayerState& input, const LayerRun& run) const override;

 protected:
  /// `linears`, `norms`: of the derived layers' blocks. `mixer_path`: "model.layers.0.self_attn".
  PreNormLayer(const std::string& path, std::string mixer_path, const std::vector<Linear*>& linears,
               std::vector<Norm*> norms);

  /// What each block makes of the normed residual stream, before it is added to it.
  virtual at::Tensor mixed(const Recomputable& x_TH, const LayerRun& run) const = 0;
  virtual at::Tensor mlp(const Recomputable& x_TH, const LayerRun& run) const = 0;

 private:
  Norm input_norm_, post_attention_norm_;
};

}  // namespace assay::engine
