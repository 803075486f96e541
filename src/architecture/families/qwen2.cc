// Qwen2 and Qwen2.5 (Yang et al. 2024, "Qwen2 Technical Report"): a Llama with biases on query, key and value, and
// sliding windows in some layers.
#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadQwen2(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {.max_positions = 32768, .key_value_heads = 32}, config);
  config.query_key_value_bias = true;
  ReadLayerWindows(keys, config);
}

}  // namespace assay::architecture
