// Mistral (Jiang et al. 2023, "Mistral 7B"): a Llama whose queries see a sliding window of keys.
#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadMistral(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {.max_positions = 4096 * 32, .key_value_heads = 8}, config);
  // transformers gives an absent key the window of Mistral 7B v0.1; later versions write null, which means none.
  config.sliding_window = keys.IntegerOr("sliding_window", 1, keys.Contains("sliding_window") ? 0 : 4096);
}

}  // namespace assay::architecture
