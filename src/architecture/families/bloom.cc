// Bloom (BigScience Workshop 2022): positions are biases of attention alone (Press et al. 2022, "Train Short, Test
// Long"), layer norms, GELU, biases everywhere, and a norm behind the embeddings.
#include <algorithm>
#include <cstdint>

#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadBloom(ConfigReader& keys, ModelConfig& config) {
  if (keys.BooleanOr("apply_residual_connection_post_layernorm", false)) {
    keys.Fail("apply_residual_connection_post_layernorm true is not supported: the residual stream is not normed");
  }
  config.network = Network::kBloom;
  ReadSizes(keys, {.hidden = "n_embed", .layers = "n_layer", .heads = "n_head"}, config);
  config.intermediate_size = 4 * std::min(config.hidden_size, INT64_MAX / 4);
  config.max_positions = keys.IntegerOr("seq_length", 1, 2048);
  config.attention_dropout = ReadDropout(keys, "attention_dropout", 0.0);
  config.residual_dropout = ReadDropout(keys, "hidden_dropout", 0.0);
  config.gelu_tanh = true;
  config.norm_eps = keys.PositiveOr("layer_norm_epsilon", 1e-5);
  config.tie_word_embeddings = keys.BooleanOr("tie_word_embeddings", true);
}

}  // namespace assay::architecture
