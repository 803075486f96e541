#include "engine/model/rotary_layer.h"

namespace assay::engine {
namespace {

/// The norm of each head on its own; x as it is where there is no such norm.
at::Tensor norm_heads(const Norm& norm, const at::Tensor& x_TND, double eps) {
  if (!norm.weight_H.defined()) {
    return x_TND;
  }
  return rms_norm(x_TND.view({-1, norm.weight_H.size(0)}), norm.weight_H, eps).view(x_TND.sizes());
}

std::vector<Linear*> joined(std::vector<Linear*> all, const std::vector<Linear*>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

RotaryLayer::RotaryLayer(const ModelConfig& /*config*/, const std::string& path,
                         const std::vector<Linear*>& mlp_linears)
    : PreNormLayer(path, path + ".self_attn", joined({&q_proj_, &k_proj_, &v_proj_, &o_proj_}, mlp_linears),
                   {&q_norm_, &k_norm_}),
      q_proj_{.path = path + ".self_attn.q_proj"},
      k_proj_{.path = path + ".self_attn.k_proj"},
      v_proj_{.path = path + ".self_attn.v_proj"},
      o_proj_{.path = path + ".self_attn.o_proj"},
      q_norm_{.path = path + ".self_attn.q_norm"},
      k_norm_{.path = path + ".self_attn.k_norm"} {}

LayerWidths RotaryLayer::mixer_widths() const {
  return {.queries = q_proj_.weight_OI.size(0), .keys = k_proj_.weight_OI.size(0)};
}

at::Tensor RotaryLayer::heads(const Recomputable& x_TH, const LayerRun& run) const {
  const DropoutPlace place{run.batch.draw_keys_T};
  const double eps = run.config.norm_eps;
  const at::Tensor q_TND = norm_heads(q_norm_, q_proj_.forward(x_TH, Output::kComputed, place), eps);
  const at::Tensor k_TKD = norm_heads(k_norm_, k_proj_.forward(x_TH, Output::kComputed, place), eps);
  const at::Tensor v_TKD = v_proj_.forward(x_TH, Output::kComputed, place);
  return attend(q_TND, k_TKD, v_TKD, run, run.split.part());
}

at::Tensor RotaryLayer::mixed(const Recomputable& x_TH, const LayerRun& run) const {
  const int64_t tokens = run.batch.tokens();
  const DropoutPlace part{run.batch.draw_keys_T, run.split.part()};
  const at::Tensor heads_TND = heads(run.split.enter(x_TH, tokens, q_proj_.path), run);
  return run.split.sum(o_proj_.forward(heads_TND, Output::kComputed, part), tokens, o_proj_.path);
}

}  // namespace assay::engine
