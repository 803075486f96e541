// Granite 4.0 (IBM 2025): of its layers some have Mamba-2 (Dao and Gu 2024, "Transformers are SSMs") in the place of
// attention; all have an MLP that every token goes through, and some models a mixture of experts beside it.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "architecture/decoder_keys.h"

namespace assay::architecture {
namespace {

void ReadLayerTypes(ConfigReader& keys, ModelConfig& config) {
  const auto layers = static_cast<size_t>(config.num_layers);
  config.mamba_layers.assign(layers, true);
  const auto types = keys.TextList(EitherKey(keys, "layer_types", "layers_block_type"));
  if (!types) {
    return;
  }
  if (types->size() != layers) {
    keys.Fail(fmt::format("layer_types has {} entries for {} layers", types->size(), config.num_layers));
    return;
  }
  for (size_t i = 0; i < layers; ++i) {
    const std::string& type = (*types)[i];
    // As transformers 5 writes them, and as earlier ones did.
    const bool is_mamba = type == "linear_attention" || type == "mamba";
    if (!is_mamba && type != "full_attention" && type != "attention") {
      keys.Fail(
          fmt::format("layer_types: '{}' is not supported, only mamba (or linear_attention) and attention (or "
                      "full_attention)",
                      type));
    }
    config.mamba_layers[i] = is_mamba;
  }
}

/// Where `mamba_d_head` is "auto", the heads divide the features among them.
int64_t ReadHeadDim(ConfigReader& keys, int64_t inner, int64_t heads) {
  const bool is_number = keys.Has("mamba_d_head") && !keys.IsText("mamba_d_head");
  if (!is_number && keys.TextOr("mamba_d_head", "auto") != "auto") {
    keys.Fail("mamba_d_head must be a number or auto");
  }
  return is_number ? keys.Integer("mamba_d_head", 1, inner) : std::max<int64_t>(1, inner / heads);
}

void ReadMamba(ConfigReader& keys, ModelConfig& config) {
  // More than any model has, and little enough for their products to be numbers.
  constexpr int64_t kMost = int64_t{1} << 20;
  const auto integer_or = [&](std::string_view key, int64_t absent) {
    return keys.Has(key) ? keys.Integer(key, 1, kMost) : absent;
  };
  MambaConfig& mamba = config.mamba;
  const int64_t expand = integer_or("mamba_expand", 2);
  mamba.inner = expand * std::min(config.hidden_size, kMost);
  mamba.heads = integer_or("mamba_n_heads", 128);
  mamba.head_dim = ReadHeadDim(keys, mamba.inner, mamba.heads);
  mamba.groups = integer_or("mamba_n_groups", 1);
  mamba.state = integer_or("mamba_d_state", 256);
  mamba.taps = integer_or("mamba_d_conv", 4);
  mamba.conv_bias = keys.BooleanOr("mamba_conv_bias", true);
  mamba.projection_bias = keys.BooleanOr("mamba_proj_bias", false);
  std::tie(mamba.shortest_step, mamba.longest_step) = keys.LimitsOr("time_step_limit", mamba.shortest_step);
  if (mamba.inner % mamba.heads != 0 || mamba.inner / mamba.heads != mamba.head_dim) {
    keys.Fail(fmt::format("mamba_n_heads {} of mamba_d_head {} are not mamba_expand {} times hidden_size {}",
                          mamba.heads, mamba.head_dim, expand, config.hidden_size));
  }
  if (mamba.heads % mamba.groups != 0) {
    keys.Fail(fmt::format("mamba_n_groups {} does not divide mamba_n_heads {}", mamba.groups, mamba.heads));
  }
}

}  // namespace

void ReadGraniteMoeHybrid(ConfigReader& keys, ModelConfig& config) {
  ReadDecoder(keys, {}, config);
  ReadAttentionBias(keys, config);
  ReadGraniteMultipliers(keys, config);
  if (!keys.IsZero("num_local_experts")) {
    ReadExperts(keys, config);
    config.stacked_experts = true;
  }
  config.network = Network::kGraniteHybrid;
  config.shared_intermediate_size = keys.IntegerOr("shared_intermediate_size", 1, 1024);
  config.rotary_positions = keys.TextOr("position_embedding_type", "nope") == "rope";
  ReadLayerTypes(keys, config);
  if (std::ranges::find(config.mamba_layers, true) != config.mamba_layers.end()) {
    ReadMamba(keys, config);
  }
}

}  // namespace assay::architecture
