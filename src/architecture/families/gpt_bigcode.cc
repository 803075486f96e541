// GPT-BigCode (Allal et al. 2023, "SantaCoder"; StarCoder, Granite 13B to 34B): a GPT-2 with learned positions whose
// query heads share one head of keys and values (Shazeer 2019, "Fast Transformer Decoding").
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "architecture/decoder_keys.h"

namespace assay::architecture {
namespace {

void RefuseUnsupported(ConfigReader& keys) {
  if (keys.BooleanOr("add_cross_attention", false)) {
    keys.Fail("add_cross_attention is not supported: there is no encoder");
  }
}

bool ReadGeluTanh(ConfigReader& keys) {
  const std::string activation = keys.TextOr("activation_function", "gelu_pytorch_tanh");
  const bool tanh = activation == "gelu_pytorch_tanh" || activation == "gelu_new";
  if (!tanh && activation != "gelu") {
    keys.Fail(fmt::format("activation_function '{}' is not supported, only gelu, gelu_new and gelu_pytorch_tanh",
                          activation));
  }
  return tanh;
}

}  // namespace

void ReadGptBigCode(ConfigReader& keys, ModelConfig& config) {
  RefuseUnsupported(keys);
  config.network = Network::kGptBigCode;
  ReadSizes(keys, {.hidden = "n_embd", .layers = "n_layer", .heads = "n_head"}, config);
  config.intermediate_size = keys.IntegerOr("n_inner", 1, 4 * std::min(config.hidden_size, INT64_MAX / 4));
  config.max_positions = keys.IntegerOr(EitherKey(keys, "n_positions", "max_position_embeddings"), 1, 1024);
  config.num_key_value_heads = keys.BooleanOr("multi_query", true) ? 1 : config.num_query_heads;
  config.attention_scale = keys.BooleanOr("scale_attn_weights", true) ? config.attention_scale : 1.0;
  config.attention_dropout = ReadDropout(keys, "attn_pdrop", 0.1);
  config.embedding_dropout = ReadDropout(keys, "embd_pdrop", 0.1);
  config.residual_dropout = ReadDropout(keys, "resid_pdrop", 0.1);
  config.gelu_tanh = ReadGeluTanh(keys);
  config.norm_eps = keys.PositiveOr("layer_norm_epsilon", 1e-5);
  config.tie_word_embeddings = keys.BooleanOr("tie_word_embeddings", true);
}

}  // namespace assay::architecture
