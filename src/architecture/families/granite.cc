// Granite (IBM 2024, "Granite 3.0 Language Models"): a Llama with multipliers on embedding, scores, blocks and logits.
#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadGranite(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {}, config);
  ReadAttentionBias(keys, config);
  config.mlp_bias = keys.BooleanOr("mlp_bias", false);
  config.embedding_multiplier = keys.PositiveOr("embedding_multiplier", 1.0);
  config.residual_multiplier = keys.PositiveOr("residual_multiplier", 1.0);
  config.attention_scale = keys.PositiveOr("attention_multiplier", 1.0);
  config.logits_divisor = keys.PositiveOr("logits_scaling", 1.0);
}

}  // namespace assay::architecture
