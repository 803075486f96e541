// Seed-OSS (ByteDance Seed 2025): a Llama with wide heads and biases on query, key and value.
#include <fmt/format.h>

#include "architecture/decoder_keys.h"

namespace assay::architecture {

void ReadSeedOss(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {.max_positions = 524288, .key_value_heads = 8, .head_dim = 128}, config);
  config.query_key_value_bias = keys.BooleanOr("attention_bias", true);
  config.output_bias = keys.BooleanOr("attention_out_bias", false);
  config.mlp_bias = keys.BooleanOr("mlp_bias", false);
  if (const double dropout = keys.NonNegativeOr("residual_dropout", 0.1); dropout > 0) {
    keys.Fail(fmt::format("residual_dropout {} is not supported (absent means 0.1): set it to 0", dropout));
  }
}

}  // namespace assay::architecture
