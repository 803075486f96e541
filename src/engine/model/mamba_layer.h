// A layer with Mamba-2 in the place of attention (Dao and Gu 2024, "Transformers are SSMs"), but for its MLP.
#pragma once

#include <string>
#include <vector>

#include "engine/kernels/state_space.h"
#include "engine/model/pre_norm_layer.h"

namespace assay::engine {

class MambaLayer : public PreNormLayer {
 protected:
  /// `mlp_linears`: of the derived layer's MLP.
  MambaLayer(const ModelConfig& config, const std::string& path, const std::vector<Linear*>& mlp_linears);

  /// Those of Mamba-2.
  LayerWidths mixer_widths() const;

 private:
  at::Tensor mixed(const Recomputable& input_TH, const LayerRun& run) const override;
  /// What the convolution and the scan give of a token, of whole rows or of one that goes on.
  at::Tensor scanned(const at::Tensor& xbc_TC, const at::Tensor& step_TN, const LayerRun& run) const;
  /// The norm of each group of heads; its weights are each feature's own.
  at::Tensor norm_groups(const at::Tensor& y_TI, double eps) const;

  StateSpace space_;
  Linear in_proj_, out_proj_;
  at::Tensor conv_weight_C1K_, conv_bias_C_;
  StateSpaceParameters parameters_;
  Norm norm_;
};

}  // namespace assay::engine
