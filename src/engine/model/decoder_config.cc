#include "engine/model/decoder_config.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace assay::engine {
namespace {

/// What transformers' config classes assume for keys that a config.json leaves out.
struct AbsentKeys {
  int64_t max_positions;
  int64_t key_value_heads;  ///< 0: as many as query heads
};

void read_sizes(const ConfigReader& keys, const AbsentKeys& absent, ModelConfig& config) {
  config.vocab_size = keys.integer("vocab_size", 1);
  config.hidden_size = keys.integer("hidden_size", 1);
  config.intermediate_size = keys.integer("intermediate_size", 1);
  config.num_layers = keys.integer("num_hidden_layers", 1);
  config.num_query_heads = keys.integer("num_attention_heads", 1);
  const int64_t heads = absent.key_value_heads > 0 ? absent.key_value_heads : config.num_query_heads;
  config.num_key_value_heads = keys.integer_or("num_key_value_heads", 1, heads);
  config.max_positions = keys.integer_or("max_position_embeddings", 1, absent.max_positions);
  if (config.num_query_heads % config.num_key_value_heads != 0) {
    keys.fail(fmt::format("num_key_value_heads {} does not divide num_attention_heads {}", config.num_key_value_heads,
                          config.num_query_heads));
  }
  if (!keys.has("head_dim") && config.hidden_size % config.num_query_heads != 0) {
    keys.fail(fmt::format("num_attention_heads {} does not divide hidden_size {}, and there is no head_dim",
                          config.num_query_heads, config.hidden_size));
  }
  config.head_dim = keys.integer_or("head_dim", 1, config.hidden_size / config.num_query_heads);
  if (config.head_dim % 2 != 0) {
    keys.fail(fmt::format("head_dim {} is odd, rotary positions need an even one", config.head_dim));
  }
}

void refuse_unsupported(const ConfigReader& keys) {
  const std::string activation = keys.text_or("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    keys.fail(fmt::format("hidden_act '{}' is not supported, only 'silu'", activation));
  }
  if (keys.has("quantization_config")) {
    keys.fail("quantization_config: quantised weights are not supported yet, use the unquantised model");
  }
  if (keys.positive_or("partial_rotary_factor", 1.0) != 1.0) {
    keys.fail("partial_rotary_factor other than 1 is not supported");
  }
}

void read_common(const ConfigReader& keys, const AbsentKeys& absent, ModelConfig& config) {
  refuse_unsupported(keys);
  read_sizes(keys, absent, config);
  config.rms_norm_eps = keys.positive_or("rms_norm_eps", 1e-6);
  config.initializer_range = keys.positive_or("initializer_range", 0.02);
  config.tie_word_embeddings = keys.boolean_or("tie_word_embeddings", false);
  config.pad_token_id = keys.integer_or("pad_token_id", -1, -1);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.attention_dropout = keys.non_negative_or("attention_dropout", 0.0);
  if (config.attention_dropout >= 1) {
    keys.fail(fmt::format("attention_dropout {} must be below 1", config.attention_dropout));
  }
  config.rope = read_rope_config(keys, config.max_positions);
}

void read_biases(const ConfigReader& keys, ModelConfig& config) {
  config.attention_bias = keys.boolean_or("attention_bias", false);
  config.mlp_bias = keys.boolean_or("mlp_bias", false);
}

}  // namespace

void read_llama_config(const ConfigReader& keys, ModelConfig& config) {
  read_common(keys, {.max_positions = 2048, .key_value_heads = 0}, config);
  read_biases(keys, config);
}

void read_mistral_config(const ConfigReader& keys, ModelConfig& config) {
  read_common(keys, {.max_positions = 4096 * 32, .key_value_heads = 8}, config);
  // transformers gives an absent key the window of Mistral 7B v0.1; later versions write null, which means none.
  config.sliding_window = keys.integer_or("sliding_window", 1, keys.contains("sliding_window") ? 0 : 4096);
}

void read_granite_config(const ConfigReader& keys, ModelConfig& config) {
  read_common(keys, {.max_positions = 2048, .key_value_heads = 0}, config);
  read_biases(keys, config);
  config.embedding_multiplier = keys.positive_or("embedding_multiplier", 1.0);
  config.residual_multiplier = keys.positive_or("residual_multiplier", 1.0);
  config.attention_scale = keys.positive_or("attention_multiplier", 1.0);
  config.logits_divisor = keys.positive_or("logits_scaling", 1.0);
}

}  // namespace assay::engine
