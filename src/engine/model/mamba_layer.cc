#include "engine/model/mamba_layer.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>

#include <algorithm>

namespace assay::engine {
namespace {

std::vector<Linear*> joined(std::vector<Linear*> all, const std::vector<Linear*>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

MambaLayer::MambaLayer(const ModelConfig& config, const std::string& path, const std::vector<Linear*>& mlp_linears)
    : PreNormLayer(path, path + ".mamba", joined({&in_proj_, &out_proj_}, mlp_linears), {&norm_}),
      space_{.heads = config.mamba.heads,
             .head_dim = config.mamba.head_dim,
             .groups = config.mamba.groups,
             .state = config.mamba.state,
             .shortest_step = config.mamba.shortest_step,
             .longest_step = config.mamba.longest_step},
      in_proj_{.path = path + ".mamba.in_proj"},
      out_proj_{.path = path + ".mamba.out_proj"},
      norm_{.path = path + ".mamba.norm"} {
  add_place(path + ".mamba.conv1d.weight", &conv_weight_C1K_);
  add_place(path + ".mamba.conv1d.bias", &conv_bias_C_);
  add_place(path + ".mamba.dt_bias", &parameters_.step_bias_N);
  add_place(path + ".mamba.A_log", &parameters_.decay_log_N);
  add_place(path + ".mamba.D", &parameters_.skip_N);
}

LayerWidths MambaLayer::mixer_widths() const {
  // What the first product gives with its gate apart, what comes out of the convolution and the scan, and of the gate.
  const int64_t inner = out_proj_.weight_OI.size(1);
  const int64_t channels = conv_weight_C1K_.size(0);
  // A row of the convolution in float32 with its gradients, and the states before each chunk of it.
  const int64_t row_numbers = 4 * channels + inner * space_.state / kScanChunk;
  return {.mixer = in_proj_.weight_OI.size(0) + channels + 4 * inner,
          .mixer_row_bytes = row_numbers * static_cast<int64_t>(sizeof(float))};
}

at::Tensor MambaLayer::norm_groups(const at::Tensor& y_TI, double eps) const {
  if (space_.groups == 1) {
    return rms_norm(y_TI, norm_.weight_H, eps);
  }
  const int64_t width = y_TI.size(1) / space_.groups;
  const at::Tensor ones = at::ones({width}, y_TI.options());
  return rms_norm(y_TI.view({-1, width}), ones, eps).view(y_TI.sizes()) * norm_.weight_H;
}

at::Tensor MambaLayer::scanned(const at::Tensor& xbc_TC, const at::Tensor& step_TN, const LayerRun& run) const {
  const at::Tensor weight_CK = conv_weight_C1K_.squeeze(1);
  if (run.cache == nullptr) {
    const std::vector<int64_t>& rows = run.batch.row_offsets;
    return selective_scan(causal_conv_silu(xbc_TC, weight_CK, conv_bias_C_, rows), step_TN, parameters_, space_, rows);
  }
  at::Tensor& before_KC = run.cache->convolved_KC;
  const at::Tensor all_TC = before_KC.defined() ? at::cat({before_KC, xbc_TC}) : xbc_TC;
  const int64_t kept = before_KC.defined() ? before_KC.size(0) : 0;
  const int64_t reach = std::min(weight_CK.size(1) - 1, all_TC.size(0));
  before_KC = all_TC.narrow(0, all_TC.size(0) - reach, reach);
  const at::Tensor convolved_TC = causal_conv_silu(all_TC, weight_CK, conv_bias_C_, {0, all_TC.size(0)});
  return scan_on(convolved_TC.narrow(0, kept, xbc_TC.size(0)), step_TN, parameters_, space_, run.cache->state_NPS);
}

// Tensor ranks compute all of it, each.
at::Tensor MambaLayer::mixed(const Recomputable& input_TH, const LayerRun& run) const {
  const DropoutPlace place{run.batch.draw_keys_T};
  const Recomputable x_TH = run.split.join_tokens(input_TH, run.batch.tokens(), in_proj_.path);
  const int64_t inner = space_.heads * space_.head_dim;
  const at::Tensor projected_TP = in_proj_.forward(x_TH, Output::kComputed, place);
  const auto parts = projected_TP.split_with_sizes({inner, conv_weight_C1K_.size(0), space_.heads}, 1);
  const at::Tensor gated_TI = swiglu(parts[0].contiguous(), scanned(parts[1], parts[2], run));
  const at::Tensor output_TH = out_proj_.forward(norm_groups(gated_TI, run.config.norm_eps), Output::kComputed, place);
  return run.split.split_tokens(output_TH, out_proj_.path);
}

}  // namespace assay::engine
