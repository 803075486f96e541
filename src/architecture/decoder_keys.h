// The keys of config.json that families of decoders share.
#pragma once

#include "architecture/config_reader.h"
#include "architecture/model_config.h"

namespace assay::architecture {

/// What transformers' config classes assume for keys that a config.json leaves out.
struct AbsentKeys {
  int64_t max_positions = 2048;
  int64_t key_value_heads = 0;  ///< 0: as many as query heads, which a null always means
  int64_t head_dim = 0;         ///< 0: hidden_size / num_attention_heads
  double norm_eps = 1e-6;
  double rope_theta = 10000.0;
};

/// Sizes, norms, rotary positions: what every decoder has.
void ReadDecoder(ConfigReader& keys, const AbsentKeys& absent, ModelConfig& config);

/// What descendants of GPT-2 call `hidden_size`, `num_hidden_layers` and `num_attention_heads`, which names hold too.
struct ShortNames {
  std::string_view hidden;
  std::string_view layers;
  std::string_view heads;
};

/// `other` where the file has it, else `name`.
std::string_view EitherKey(const ConfigReader& keys, std::string_view name, std::string_view other);

/// Vocabulary, widths, layers and heads, with as many of keys and values as of queries.
void ReadSizes(ConfigReader& keys, const ShortNames& names, ModelConfig& config);

/// A chance that something is dropped, below 1.
double ReadDropout(ConfigReader& keys, std::string_view key, double absent);

/// Experts in the place of the MLP: how many there are, how many a token goes through, and what their router's loss
/// counts for.
void ReadExperts(ConfigReader& keys, ModelConfig& config);

/// The multipliers of Granite: on embedding, residuals, scores and logits.
void ReadGraniteMultipliers(ConfigReader& keys, ModelConfig& config);

/// `attention_bias`, of the four products of attention.
void ReadAttentionBias(ConfigReader& keys, ModelConfig& config);

/// `sliding_window`; 0: none. transformers gives an absent key the window of Mistral 7B v0.1, and none to a null.
int64_t ReadSlidingWindow(ConfigReader& keys);

/// The windows of Qwen's layers: where `use_sliding_window`, those that `layer_types` names, else those from
/// `max_window_layers` on.
void ReadLayerWindows(ConfigReader& keys, ModelConfig& config);

/// Rotary settings in either spelling; see RopeConfig. `max_positions` is the model's own maximum length,
/// `absent_theta` the family's base where neither spelling names one.
RopeConfig ReadRopeConfig(ConfigReader& keys, int64_t max_positions, double absent_theta);

}  // namespace assay::architecture
