// A layer of GPT-BigCode: a pre-norm GPT-2 (Radford et al. 2019, "Language Models are Unsupervised Multitask Learners")
// whose query heads share one head of keys and values (Shazeer 2019, "Fast Transformer Decoding").
#pragma once

#include <string>

#include "engine/model/decoder_layer.h"

namespace assay::engine {

/// Ranks that divide features divide the MLP's; attention, whose one head of keys and values has no parts, is computed
/// by each rank.
class GptBigCodeLayer : public DecoderLayer {
 public:
  explicit GptBigCodeLayer(const std::string& path);

  LayerResult forward(const LayerState& input, const LayerRun& run) const override;
  LayerWidths widths() const override;

 private:
  at::Tensor heads(const Recomputable& x_TH, const LayerRun& run) const;

  Norm ln_1_;
  Linear c_attn_, attention_c_proj_;
  Norm ln_2_;
  Linear c_fc_, mlp_c_proj_;
  std::string attention_dropout_path_, mlp_dropout_path_;
};

}  // namespace assay::engine
