// Which quantised weights a config.json announces.
#pragma once

#include <cstdint>

namespace assay::architecture {

class ConfigReader;

/// The products of a decoder's layers in weights of few bits, as GPTQ's checkpoints hold them (Frantar et al. 2022,
/// "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers").
struct Quantization {
  int64_t bits = 0;                       ///< 2, 3, 4 or 8; 0: weights are not quantised
  int64_t group_size = 128;               ///< inputs that share a scale and a zero; -1: all of them
  bool stores_zeros_as_they_are = false;  ///< checkpoint_format gptq_v2; before it they were stored less one
  bool in_any_order = false;              ///< desc_act: any inputs may make a group
};

bool IsQuantisedWidth(int64_t bits);

/// `quantization_config`; an error for another method than GPTQ, or for what this cannot be read with.
Quantization ReadQuantization(ConfigReader& keys);

}  // namespace assay::architecture
