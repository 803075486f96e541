#include "engine/model/llama_layer.h"

namespace assay::engine {

LlamaLayer::LlamaLayer(const ModelConfig& config, const std::string& path)
    : RotaryLayer(config, path, {&gate_proj_, &up_proj_, &down_proj_}),
      gate_proj_{.path = path + ".mlp.gate_proj"},
      up_proj_{.path = path + ".mlp.up_proj"},
      down_proj_{.path = path + ".mlp.down_proj"} {}

LayerWidths LlamaLayer::widths() const {
  LayerWidths widths = mixer_widths();
  widths.inner = gate_proj_.weight_OI.size(0);
  widths.mlp_kept = 2 * widths.inner;
  return widths;
}

at::Tensor LlamaLayer::mlp(const Recomputable& x_TH, const LayerRun& run) const {
  const int64_t tokens = run.batch.tokens();
  const DropoutPlace whole{run.batch.draw_keys_T};
  const DropoutPlace part{run.batch.draw_keys_T, run.split.part()};
  const Recomputable all_TH = run.split.enter(x_TH, tokens, gate_proj_.path);
  const at::Tensor gate_TI = gate_proj_.forward(all_TH, Output::kComputed, whole);
  const at::Tensor up_TI = up_proj_.forward(all_TH, Output::kComputed, whole);
  const at::Tensor part_TH = down_proj_.forward(recomputable_swiglu(gate_TI, up_TI), run.output, part);
  return run.split.sum(part_TH, tokens, down_proj_.path, run.output);
}

}  // namespace assay::engine
