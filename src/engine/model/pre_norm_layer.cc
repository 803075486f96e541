#include "engine/model/pre_norm_layer.h"

#include <utility>

namespace assay::engine {
namespace {

std::vector<Norm*> with(std::vector<Norm*> norms, Norm* first, Norm* second) {
  norms.push_back(first);
  norms.push_back(second);
  return norms;
}

}  // namespace

PreNormLayer::PreNormLayer(const std::string& path, std::string mixer_path, const std::vector<Linear*>& linears,
                           std::vector<Norm*> norms)
    : DecoderLayer(std::move(mixer_path), linears, with(std::move(norms), &input_norm_, &post_attention_norm_)),
      input_norm_{.path = path + ".input_layernorm"},
      post_attention_norm_{.path = path + ".post_attention_layernorm"} {}

LayerResult PreNormLayer::forward(const LayerState& input, const LayerRun& run) const {
  const double eps = run.config.norm_eps;
  const double multiplier = run.config.residual_multiplier;
  const auto [entry_TH, mixer_input_TH] = normed_sum(input.residual_TH, input.block_TH, input_norm_, eps, multiplier);
  const at::Tensor mixed_TH = mixed(mixer_input_TH, run);
  const auto [residual_TH, mlp_input_TH] = normed_sum(entry_TH, mixed_TH, post_attention_norm_, eps, multiplier);
  return {{residual_TH, mlp(mlp_input_TH, run)}, entry_TH};
}

}  // namespace assay::engine
