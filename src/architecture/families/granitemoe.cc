// Granite's mixtures of experts (IBM 2024, "Granite 3.0 Language Models"): a Mixtral with the multipliers of Granite,
// whose experts' weights stand in one tensor.
#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadGraniteMoe(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {}, config);
  ReadAttentionBias(keys, config);
  ReadGraniteMultipliers(keys, config);
  ReadExperts(keys, config);
  config.stacked_experts = true;
}

}  // namespace assay::architecture
