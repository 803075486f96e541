#include "architecture/decoder_keys.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace assay::architecture {
namespace {

/// Far more than any model has, and few enough for something of each to fit into memory.
constexpr int64_t kMostLayers = 100'000;
constexpr int64_t kMostExperts = 4096;

double UsualScale(const ModelConfig& config) {
  return 1.0 / std::sqrt(static_cast<double>(config.head_dim));
}

void ReadHeads(ConfigReader& keys, const AbsentKeys& absent, ModelConfig& config) {
  config.num_query_heads = keys.Integer("num_attention_heads", 1);
  const bool as_many = absent.key_value_heads == 0 || keys.Contains("num_key_value_heads");
  config.num_key_value_heads =
      keys.IntegerOr("num_key_value_heads", 1, as_many ? config.num_query_heads : absent.key_value_heads);
  if (config.num_query_heads % config.num_key_value_heads != 0) {
    keys.Fail(fmt::format("num_key_value_heads {} does not divide num_attention_heads {}", config.num_key_value_heads,
                          config.num_query_heads));
  }
  if (!keys.Has("head_dim") && absent.head_dim == 0 && config.hidden_size % config.num_query_heads != 0) {
    keys.Fail(fmt::format("num_attention_heads {} does not divide hidden_size {}, and there is no head_dim",
                          config.num_query_heads, config.hidden_size));
  }
  config.head_dim = keys.IntegerOr("head_dim", 1,
                                   absent.head_dim > 0 ? absent.head_dim : config.hidden_size / config.num_query_heads);
  if (config.head_dim % 2 != 0) {
    keys.Fail(fmt::format("head_dim {} is odd, rotary positions need an even one", config.head_dim));
  }
  config.attention_scale = UsualScale(config);
}

void RefuseUnsupported(ConfigReader& keys) {
  const std::string activation = keys.TextOr("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    keys.Fail(fmt::format("hidden_act '{}' is not supported, only 'silu'", activation));
  }
  if (keys.PositiveOr("partial_rotary_factor", 1.0) != 1.0) {
    keys.Fail("partial_rotary_factor other than 1 is not supported");
  }
  if (!keys.BooleanOr("is_causal", true)) {
    keys.Fail("is_causal false is not supported: each token sees those before it alone");
  }
  if (keys.Has("per_layer_config")) {
    keys.Fail("per_layer_config is not supported: all layers are alike");
  }
}

/// As torch's nn.Embedding has it, a negative one counts from the end of the vocabulary.
void ReadPadding(ConfigReader& keys, ModelConfig& config) {
  if (!keys.Has("pad_token_id")) {
    return;
  }
  const int64_t id = keys.Integer("pad_token_id", -config.vocab_size, config.vocab_size - 1);
  config.pad_token_id = id < 0 ? id + config.vocab_size : id;
}

}  // namespace

void ReadDecoder(ConfigReader& keys, const AbsentKeys& absent, ModelConfig& config) {
  RefuseUnsupported(keys);
  config.vocab_size = keys.Integer("vocab_size", 1);
  config.hidden_size = keys.Integer("hidden_size", 1);
  config.intermediate_size = keys.Integer("intermediate_size", 1);
  config.num_layers = keys.Integer("num_hidden_layers", 1, kMostLayers);
  config.layer_windows.assign(static_cast<size_t>(config.num_layers), 0);
  config.max_positions = keys.IntegerOr("max_position_embeddings", 1, absent.max_positions);
  ReadHeads(keys, absent, config);
  config.norm_eps = keys.PositiveOr("rms_norm_eps", absent.norm_eps);
  config.initializer_range = keys.PositiveOr("initializer_range", 0.02);
  config.tie_word_embeddings = keys.BooleanOr("tie_word_embeddings", false);
  ReadPadding(keys, config);
  config.attention_dropout = ReadDropout(keys, "attention_dropout", 0.0);
  config.rope = ReadRopeConfig(keys, config.max_positions, absent.rope_theta);
}

std::string_view EitherKey(const ConfigReader& keys, std::string_view name, std::string_view other) {
  return keys.Has(other) ? other : name;
}

void ReadSizes(ConfigReader& keys, const ShortNames& names, ModelConfig& config) {
  config.vocab_size = keys.Integer("vocab_size", 1);
  config.hidden_size = keys.Integer(EitherKey(keys, names.hidden, "hidden_size"), 1);
  config.num_layers = keys.Integer(EitherKey(keys, names.layers, "num_hidden_layers"), 1, kMostLayers);
  config.layer_windows.assign(static_cast<size_t>(config.num_layers), 0);
  config.num_query_heads = keys.Integer(EitherKey(keys, names.heads, "num_attention_heads"), 1);
  config.num_key_value_heads = config.num_query_heads;
  if (config.hidden_size % config.num_query_heads != 0) {
    keys.Fail(fmt::format("{} {} does not divide {} {}", names.heads, config.num_query_heads, names.hidden,
                          config.hidden_size));
  }
  config.head_dim = config.hidden_size / config.num_query_heads;
  config.attention_scale = UsualScale(config);
  config.initializer_range = keys.PositiveOr("initializer_range", 0.02);
}

double ReadDropout(ConfigReader& keys, std::string_view key, double absent) {
  const double chance = keys.NonNegativeOr(key, absent);
  if (chance >= 1) {
    keys.Fail(fmt::format("{} {} must be below 1", key, chance));
  }
  return chance;
}

void ReadExperts(ConfigReader& keys, ModelConfig& config) {
  config.network = Network::kMixtral;
  config.num_experts = keys.Has("num_local_experts") ? keys.Integer("num_local_experts", 1, kMostExperts) : 8;
  config.experts_per_token = keys.IntegerOr("num_experts_per_tok", 1, 2);
  if (config.experts_per_token > config.num_experts) {
    keys.Fail(fmt::format("num_experts_per_tok {} is more than num_local_experts {}", config.experts_per_token,
                          config.num_experts));
  }
  const double coefficient = keys.NonNegativeOr("router_aux_loss_coef", 0.001);
  config.router_loss_coefficient = keys.BooleanOr("output_router_logits", false) ? coefficient : 0.0;
  if (keys.NonNegativeOr("router_jitter_noise", 0) > 0) {
    keys.Fail("router_jitter_noise other than 0 is not supported");
  }
}

void ReadGraniteMultipliers(ConfigReader& keys, ModelConfig& config) {
  config.embedding_multiplier = keys.PositiveOr("embedding_multiplier", 1.0);
  config.residual_multiplier = keys.PositiveOr("residual_multiplier", 1.0);
  config.attention_scale = keys.PositiveOr("attention_multiplier", 1.0);
  config.logits_divisor = keys.PositiveOr("logits_scaling", 1.0);
}

void ReadAttentionBias(ConfigReader& keys, ModelConfig& config) {
  config.query_key_value_bias = keys.BooleanOr("attention_bias", false);
  config.output_bias = config.query_key_value_bias;
}

}  // namespace assay::architecture
