// Granite (IBM 2024, "Granite 3.0 Language Models"): a Llama with multipliers on embedding, scores, blocks and logits.
#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadGranite(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {}, config);
  ReadAttentionBias(keys, config);
  config.mlp_bias = keys.BooleanOr("mlp_bias", false);
  ReadGraniteMultipliers(keys, config);
}

}  // namespace assay::architecture
