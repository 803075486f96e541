// Mixtral (Jiang et al. 2024, "Mixtral of Experts"): a Mistral whose MLP is a mixture of experts.
#include <algorithm>

#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadMixtral(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {.max_positions = 4096 * 32, .key_value_heads = 8, .norm_eps = 1e-5, .rope_theta = 1e6}, config);
  std::ranges::fill(config.layer_windows, keys.IntegerOr("sliding_window", 1, 0));
  ReadExperts(keys, config);
}

}  // namespace assay::architecture
