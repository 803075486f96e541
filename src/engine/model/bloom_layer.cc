#include "engine/model/bloom_layer.h"

#include "engine/model/alibi.h"

namespace assay::engine {

BloomLayer::BloomLayer(const ModelConfig& config, const std::string& path)
    : DecoderLayer(path + ".self_attention", {&query_key_value_, &dense_, &dense_h_to_4h_, &dense_4h_to_h_},
                   {&input_norm_, &post_attention_norm_}),
      input_norm_{.path = path + ".input_layernorm"},
      query_key_value_{.path = path + ".self_attention.query_key_value"},
      dense_{.path = path + ".self_attention.dense"},
      post_attention_norm_{.path = path + ".post_attention_layernorm"},
      dense_h_to_4h_{.path = path + ".mlp.dense_h_to_4h"},
      dense_4h_to_h_{.path = path + ".mlp.dense_4h_to_h"},
      attention_dropout_path_(path + ".self_attention.hidden_dropout"),
      mlp_dropout_path_(path + ".mlp.hidden_dropout"),
      head_dim_(config.head_dim) {}

LayerWidths BloomLayer::widths() const {
  const int64_t features = dense_.weight_OI.size(1);
  const int64_t inner = dense_h_to_4h_.weight_OI.size(0);
  return {.queries = features,
          .keys = features,
          .beside = features / head_dim_ * kAlibiFeatures,
          .inner = inner,
          .mlp_kept = inner};
}

at::Tensor BloomLayer::heads(const Recomputable& x_TH, const LayerRun& run) const {
  const ModelConfig& config = run.config;
  const at::Tensor qkv_TA = query_key_value_.forward(x_TH, Output::kComputed, {run.batch.draw_keys_T});
  const int64_t heads = qkv_TA.size(1) / (3 * config.head_dim);
  const auto parts = qkv_TA.view({-1, heads, 3, config.head_dim}).unbind(2);
  const auto of_token = [&](const at::Tensor& x_TND) { return x_TND.reshape({x_TND.size(0), -1}); };
  const std::vector<double> all = alibi_slopes(config.num_query_heads);
  const auto first = all.begin() + run.split.part() * heads;
  const BiasedHeads biased = add_alibi(of_token(parts[0]), of_token(parts[1]), of_token(parts[2]),
                                       run.batch.positions_T, {first, first + heads}, config.attention_scale);
  return without_alibi(attend(biased.q_TNE, biased.k_TNE, biased.v_TNE, run, run.split.part(), kAlibiFeatures), heads);
}

LayerResult BloomLayer::forward(const LayerState& input, const LayerRun& run) const {
  const int64_t tokens = run.batch.tokens();
  const double eps = run.config.norm_eps;
  const DropoutPlace whole{run.batch.draw_keys_T};
  const DropoutPlace part{run.batch.draw_keys_T, run.split.part()};

  const auto [entry_TH, attention_input_TH] = normed_sum(input.residual_TH, input.block_TH, input_norm_, eps);
  const at::Tensor heads_TND = heads(run.split.enter(attention_input_TH, tokens, query_key_value_.path), run);
  const at::Tensor attended_TH = run.split.sum(
      run.drop(dense_.forward(heads_TND, Output::kComputed, part), attention_dropout_path_), tokens, dense_.path);

  const auto [residual_TH, mlp_input_TH] = normed_sum(entry_TH, attended_TH, post_attention_norm_, eps);
  const Recomputable x_TH = run.split.enter(mlp_input_TH, tokens, dense_h_to_4h_.path);
  const at::Tensor inner_TI = dense_h_to_4h_.forward(x_TH, Output::kComputed, whole);
  const at::Tensor part_TH = run.drop(
      dense_4h_to_h_.forward(recomputable_gelu(inner_TI, GeluForm::kTanh), run.output, part), mlp_dropout_path_);
  return {{residual_TH, run.split.sum(part_TH, tokens, dense_4h_to_h_.path, run.output)}, entry_TH};
}

}  // namespace assay::engine
