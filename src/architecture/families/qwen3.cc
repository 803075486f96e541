// Qwen3 (Yang et al. 2025, "Qwen3 Technical Report"): a Llama that norms each head of query and key before it is
// rotated, with the sliding windows of Qwen2.
#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadQwen3(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {.max_positions = 32768, .key_value_heads = 32, .head_dim = 128}, config);
  ReadAttentionBias(keys, config);
  config.query_key_norm = true;
  ReadLayerWindows(keys, config);
}

}  // namespace assay::architecture
