#include "engine/model/mixtral_layer.h"

namespace assay::engine {

MixtralLayer::MixtralLayer(const ModelConfig& config, const std::string& path)
    : RotaryLayer(path, {}), experts_path_(path + ".block_sparse_moe"), experts_(config, experts_path_) {
  for (const auto& [name, place] : experts_.places()) {
    add_place(name, place);
  }
}

LayerWidths MixtralLayer::widths() const {
  LayerWidths widths = attention_widths();
  widths.inner = experts_.inner_width();
  // Gate and up, and what each expert gives.
  widths.mlp_kept = 2 * widths.inner + experts_.output_width();
  return widths;
}

at::Tensor MixtralLayer::mlp(const Recomputable& x_TH, const LayerRun& run) const {
  const int64_t tokens = run.batch.tokens();
  const Recomputable all_TH = run.split.enter(x_TH, tokens, experts_path_);
  return run.split.sum(experts_.forward(all_TH, run.split.part()), tokens, experts_path_, run.output);
}

}  // namespace assay::engine
