#include "engine/model/mixtral_layer.h"

#include <tuple>

namespace assay::engine {

MixtralLayer::MixtralLayer(const ModelConfig& config, const std::string& path)
    : RotaryLayer(config, path, {}), experts_path_(path + ".block_sparse_moe"), experts_(config, experts_path_) {
  for (const auto& [name, place] : experts_.places()) {
    add_place(name, place);
  }
  add_stacks(experts_.stacks());
}

LayerWidths MixtralLayer::widths() const {
  LayerWidths widths = mixer_widths();
  widths.inner = experts_.inner_width();
  widths.mixed = experts_.output_width();
  widths.mlp_kept = 2 * widths.inner;
  std::tie(widths.expert_outputs, widths.expert_inputs) = experts_.largest_matrix();
  return widths;
}

at::Tensor MixtralLayer::mlp(const Recomputable& x_TH, const LayerRun& run) const {
  const int64_t tokens = run.batch.tokens();
  const Recomputable all_TH = run.split.enter(x_TH, tokens, experts_path_);
  const at::Tensor part_TH = experts_.forward(all_TH, run.split.part(), run.output, run.balance);
  return run.split.sum(part_TH, tokens, experts_path_, run.output);
}

}  // namespace assay::engine
