// Llama (Touvron et al. 2023, "LLaMA"), and what has its network: SmolLM2, Granite's code models.
#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadLlama(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {}, config);
  ReadAttentionBias(keys, config);
  config.mlp_bias = keys.BooleanOr("mlp_bias", false);
}

}  // namespace assay::architecture
