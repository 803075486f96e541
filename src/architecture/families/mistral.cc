// Mistral (Jiang et al. 2023, "Mistral 7B"): a Llama whose queries see a sliding window of keys.
#include <algorithm>

#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadMistral(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {.max_positions = 4096 * 32, .key_value_heads = 8}, config);
  std::ranges::fill(config.layer_windows, ReadSlidingWindow(keys));
}

}  // namespace assay::architecture
