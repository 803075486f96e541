#include "engine/model/gpt_bigcode_layer.h"

#include <tuple>
#include <utility>

namespace assay::engine {
namespace {

/// Queries, keys and values out of what one product makes of a token: one after the other where one head of keys and
/// values serves all queries, else head by head.
std::tuple<at::Tensor, at::Tensor, at::Tensor> take_apart(const at::Tensor& qkv_TA, const ModelConfig& config) {
  const int64_t queries = config.num_query_heads * config.head_dim;
  if (config.num_key_value_heads == 1) {
    const auto parts = qkv_TA.split_with_sizes({queries, config.head_dim, config.head_dim}, 1);
    return {parts[0].contiguous(), parts[1].contiguous(), parts[2].contiguous()};
  }
  const auto parts = qkv_TA.view({-1, config.num_query_heads, 3, config.head_dim}).unbind(2);
  return {parts[0].reshape({-1, queries}), parts[1].reshape({-1, queries}), parts[2].reshape({-1, queries})};
}

}  // namespace

GptBigCodeLayer::GptBigCodeLayer(const std::string& path)
    : DecoderLayer(path + ".attn", {&c_attn_, &attention_c_proj_, &c_fc_, &mlp_c_proj_}, {&ln_1_, &ln_2_}),
      ln_1_{.path = path + ".ln_1"},
      c_attn_{.path = path + ".attn.c_attn"},
      attention_c_proj_{.path = path + ".attn.c_proj"},
      ln_2_{.path = path + ".ln_2"},
      c_fc_{.path = path + ".mlp.c_fc"},
      mlp_c_proj_{.path = path + ".mlp.c_proj"},
      attention_dropout_path_(path + ".attn.resid_dropout"),
      mlp_dropout_path_(path + ".mlp.dropout") {}

LayerWidths GptBigCodeLayer::widths() const {
  const int64_t queries = attention_c_proj_.weight_OI.size(1);
  const int64_t inner = c_fc_.weight_OI.size(0);
  return {.queries = queries, .keys = (c_attn_.weight_OI.size(0) - queries) / 2, .inner = inner, .mlp_kept = inner};
}

at::Tensor GptBigCodeLayer::heads(const Recomputable& x_TH, const LayerRun& run) const {
  const at::Tensor qkv_TA = c_attn_.forward(x_TH, Output::kComputed, {run.batch.draw_keys_T});
  const auto [q_TND, k_TKD, v_TKD] = take_apart(qkv_TA, run.config);
  return attend(q_TND, k_TKD, v_TKD, run, /*part=*/0);
}

LayerResult GptBigCodeLayer::forward(const LayerState& input, const LayerRun& run) const {
  const int64_t tokens = run.batch.tokens();
  const double eps = run.config.norm_eps;
  const DropoutPlace whole{run.batch.draw_keys_T};
  const DropoutPlace part{run.batch.draw_keys_T, run.split.part()};

  const auto [entry_TH, attention_input_TH] = normed_sum(input.residual_TH, input.block_TH, ln_1_, eps);
  const at::Tensor heads_TND = heads(run.split.join_tokens(attention_input_TH, tokens, c_attn_.path), run);
  const at::Tensor projected_TH = attention_c_proj_.forward(heads_TND, Output::kComputed, whole);
  const at::Tensor attended_TH = run.split.split_tokens(run.drop(projected_TH, attention_dropout_path_), c_attn_.path);

  const auto [residual_TH, mlp_input_TH] = normed_sum(entry_TH, attended_TH, ln_2_, eps);
  const Recomputable x_TH = run.split.enter(mlp_input_TH, tokens, c_fc_.path);
  const GeluForm form = run.config.gelu_tanh ? GeluForm::kTanh : GeluForm::kErf;
  const at::Tensor inner_TI = c_fc_.forward(x_TH, Output::kComputed, whole);
  const at::Tensor part_TH =
      run.drop(mlp_c_proj_.forward(recomputable_gelu(inner_TI, form), run.output, part), mlp_dropout_path_);
  return {{residual_TH, run.split.sum(part_TH, tokens, mlp_c_proj_.path, run.output)}, entry_TH};
}

}  // namespace assay::engine
