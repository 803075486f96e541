// A layer of Bloom: a pre-norm GPT-2 whose positions are biases of its attention (alibi.h).
#pragma once

#include <string>

#include "engine/model/decoder_layer.h"

namespace assay::engine {

/// Ranks that divide features divide heads and the MLP's features.
class BloomLayer : public DecoderLayer {
 public:
  BloomLayer(const ModelConfig& config, const std::string& path);

  LayerResult forward(const LayerState& input, const LayerRun& run) const override;
  LayerWidths widths() const override;

 private:
  at::Tensor heads(const Recomputable& x_TH, const LayerRun& run) const;

  Norm input_norm_;
  Linear query_key_value_, dense_;
  Norm post_attention_norm_;
  Linear dense_h_to_4h_, dense_4h_to_h_;
  std::string attention_dropout_path_, mlp_dropout_path_;
  int64_t head_dim_;
};

}  // namespace assay::engine
