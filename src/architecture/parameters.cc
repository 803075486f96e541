#include "architecture/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace assay::architecture {
namespace {

using Specs = std::vector<ParameterSpec>;

void AddLinear(Specs& specs, const std::string& path, int64_t outputs, int64_t inputs, bool bias) {
  specs.push_back({path + ".weight", {outputs, inputs}});
  if (bias) {
    specs.push_back({path + ".bias", {outputs}, Initializer::kZeros});
  }
}

void AddNorm(Specs& specs, const std::string& path, int64_t width) {
  specs.push_back({path + ".weight", {width}, Initializer::kOnes});
}

void AddLayerNorm(Specs& specs, const std::string& path, int64_t width) {
  AddNorm(specs, path, width);
  specs.push_back({path + ".bias", {width}, Initializer::kZeros});
}

void AddAttention(Specs& specs, const std::string& path, const ModelConfig& config) {
  const int64_t queries = config.num_query_heads * config.head_dim;
  const int64_t keys = config.num_key_value_heads * config.head_dim;
  AddLinear(specs, path + ".q_proj", queries, config.hidden_size, config.query_key_value_bias);
  AddLinear(specs, path + ".k_proj", keys, config.hidden_size, config.query_key_value_bias);
  AddLinear(specs, path + ".v_proj", keys, config.hidden_size, config.query_key_value_bias);
  AddLinear(specs, path + ".o_proj", config.hidden_size, queries, config.output_bias);
  if (config.query_key_norm) {
    AddNorm(specs, path + ".q_norm", config.head_dim);
    AddNorm(specs, path + ".k_norm", config.head_dim);
  }
}

void AddMlp(Specs& specs, const std::string& path, const ModelConfig& config) {
  AddLinear(specs, path + ".gate_proj", config.intermediate_size, config.hidden_size, config.mlp_bias);
  AddLinear(specs, path + ".up_proj", config.intermediate_size, config.hidden_size, config.mlp_bias);
  AddLinear(specs, path + ".down_proj", config.hidden_size, config.intermediate_size, config.mlp_bias);
}

Specs LlamaLayerParameters(const std::string& path, const ModelConfig& config, int64_t /*layer*/) {
  Specs specs;
  AddAttention(specs, path + ".self_attn", config);
  AddMlp(specs, path + ".mlp", config);
  AddNorm(specs, path + ".input_layernorm", config.hidden_size);
  AddNorm(specs, path + ".post_attention_layernorm", config.hidden_size);
  return specs;
}

void AddExperts(Specs& specs, const std::string& path, const ModelConfig& config) {
  const int64_t hidden = config.hidden_size;
  const int64_t inner = config.intermediate_size;
  if (config.stacked_experts) {
    specs.push_back({path + ".input_linear.weight", {config.num_experts, 2 * inner, hidden}});
    specs.push_back({path + ".output_linear.weight", {config.num_experts, hidden, inner}});
    AddLinear(specs, path + ".router.layer", config.num_experts, hidden, /*bias=*/false);
    return;
  }
  AddLinear(specs, path + ".gate", config.num_experts, hidden, /*bias=*/false);
  for (int64_t expert = 0; expert < config.num_experts; ++expert) {
    const std::string expert_path = fmt::format("{}.experts.{}", path, expert);
    AddLinear(specs, expert_path + ".w1", inner, hidden, /*bias=*/false);
    AddLinear(specs, expert_path + ".w2", hidden, inner, /*bias=*/false);
    AddLinear(specs, expert_path + ".w3", inner, hidden, /*bias=*/false);
  }
}

Specs MixtralLayerParameters(const std::string& path, const ModelConfig& config, int64_t /*layer*/) {
  Specs specs;
  AddAttention(specs, path + ".self_attn", config);
  AddExperts(specs, path + ".block_sparse_moe", config);
  AddNorm(specs, path + ".input_layernorm", config.hidden_size);
  AddNorm(specs, path + ".post_attention_layernorm", config.hidden_size);
  return specs;
}

Specs GptBigCodeLayerParameters(const std::string& path, const ModelConfig& config, int64_t /*layer*/) {
  const int64_t width = config.hidden_size;
  const int64_t keys = config.num_key_value_heads * config.head_dim;
  Specs specs;
  AddLayerNorm(specs, path + ".ln_1", width);
  AddLinear(specs, path + ".attn.c_attn", width + 2 * keys, width, /*bias=*/true);
  AddLinear(specs, path + ".attn.c_proj", width, width, /*bias=*/true);
  AddLayerNorm(specs, path + ".ln_2", width);
  AddLinear(specs, path + ".mlp.c_fc", config.intermediate_size, width, /*bias=*/true);
  AddLinear(specs, path + ".mlp.c_proj", width, config.intermediate_size, /*bias=*/true);
  return specs;
}

Specs BloomLayerParameters(const std::string& path, const ModelConfig& config, int64_t /*layer*/) {
  const int64_t width = config.hidden_size;
  Specs specs;
  AddLayerNorm(specs, path + ".input_layernorm", width);
  AddLinear(specs, path + ".self_attention.query_key_value", 3 * width, width, /*bias=*/true);
  AddLinear(specs, path + ".self_attention.dense", width, width, /*bias=*/true);
  AddLayerNorm(specs, path + ".post_attention_layernorm", width);
  AddLinear(specs, path + ".mlp.dense_h_to_4h", config.intermediate_size, width, /*bias=*/true);
  AddLinear(specs, path + ".mlp.dense_4h_to_h", width, config.intermediate_size, /*bias=*/true);
  return specs;
}

void AddMamba(Specs& specs, const std::string& path, const ModelConfig& config) {
  const MambaConfig& mamba = config.mamba;
  AddLinear(specs, path + ".in_proj", mamba.inner + mamba.channels() + mamba.heads, config.hidden_size,
            mamba.projection_bias);
  specs.push_back({path + ".conv1d.weight", {mamba.channels(), 1, mamba.taps}});
  if (mamba.conv_bias) {
    specs.push_back({path + ".conv1d.bias", {mamba.channels()}, Initializer::kZeros});
  }
  specs.push_back({path + ".dt_bias", {mamba.heads}, Initializer::kOnes});
  specs.push_back({path + ".A_log", {mamba.heads}, Initializer::kLogOfPlace});
  specs.push_back({path + ".D", {mamba.heads}, Initializer::kOnes});
  AddNorm(specs, path + ".norm", mamba.inner);
  AddLinear(specs, path + ".out_proj", config.hidden_size, mamba.inner, mamba.projection_bias);
}

Specs GraniteHybridLayerParameters(const std::string& path, const ModelConfig& config, int64_t layer) {
  Specs specs;
  if (config.mamba_layers[static_cast<size_t>(layer)]) {
    AddMamba(specs, path + ".mamba", config);
  } else {
    AddAttention(specs, path + ".self_attn", config);
  }
  if (config.num_experts > 0) {
    AddExperts(specs, path + ".block_sparse_moe", config);
  }
  AddLinear(specs, path + ".shared_mlp.input_linear", 2 * config.shared_intermediate_size, config.hidden_size,
            /*bias=*/false);
  AddLinear(specs, path + ".shared_mlp.output_linear", config.hidden_size, config.shared_intermediate_size,
            /*bias=*/false);
  AddNorm(specs, path + ".input_layernorm", config.hidden_size);
  AddNorm(specs, path + ".post_attention_layernorm", config.hidden_size);
  return specs;
}

/// What differs from network to network.
struct NetworkParameters {
  Network network;
  std::string_view embedding;
  std::string_view positions;   ///< learned ones; empty: none
  std::string_view entry_norm;  ///< of the embeddings; empty: none
  bool rotary;                  ///< positions are rotary
  std::string_view layers;
  std::string_view final_norm;
  void (*add_norm)(Specs& specs, const std::string& path, int64_t width);
  Specs (*of_layer)(const std::string& path, const ModelConfig& config, int64_t layer);
};

constexpr NetworkParameters kNetworks[] = {
    {.network = Network::kLlama,
     .embedding = "model.embed_tokens",
     .positions = "",
     .entry_norm = "",
     .rotary = true,
     .layers = "model.layers",
     .final_norm = "model.norm",
     .add_norm = AddNorm,
     .of_layer = LlamaLayerParameters},
    {.network = Network::kGptBigCode,
     .embedding = "transformer.wte",
     .positions = "transformer.wpe",
     .entry_norm = "",
     .rotary = false,
     .layers = "transformer.h",
     .final_norm = "transformer.ln_f",
     .add_norm = AddLayerNorm,
     .of_layer = GptBigCodeLayerParameters},
    {.network = Network::kMixtral,
     .embedding = "model.embed_tokens",
     .positions = "",
     .entry_norm = "",
     .rotary = true,
     .layers = "model.layers",
     .final_norm = "model.norm",
     .add_norm = AddNorm,
     .of_layer = MixtralLayerParameters},
    {.network = Network::kBloom,
     .embedding = "transformer.word_embeddings",
     .positions = "",
     .entry_norm = "transformer.word_embeddings_layernorm",
     .rotary = false,
     .layers = "transformer.h",
     .final_norm = "transformer.ln_f",
     .add_norm = AddLayerNorm,
     .of_layer = BloomLayerParameters},
    {.network = Network::kGraniteHybrid,
     .embedding = "model.embed_tokens",
     .positions = "",
     .entry_norm = "",
     .rotary = true,
     .layers = "model.layers",
     .final_norm = "model.norm",
     .add_norm = AddNorm,
     .of_layer = GraniteHybridLayerParameters},
};

const NetworkParameters& NetworkOf(const ModelConfig& config) {
  return *std::ranges::find(kNetworks, config.network, &NetworkParameters::network);
}

int64_t Count(const Specs& specs) {
  int64_t count = 0;
  for (const ParameterSpec& spec : specs) {
    int64_t numbers = 1;
    for (const int64_t size : spec.shape) {
      numbers *= size;
    }
    count += numbers;
  }
  return count;
}

/// Products of three such sizes, and some sums of them, are within 64 bits.
bool IsSize(int64_t size) {
  return size >= 1 && size <= int64_t{1} << 20;
}

/// A layer of each kind, and how many there are of it.
std::vector<std::pair<int64_t, int64_t>> KindsOfLayers(const ModelConfig& config) {
  if (config.mamba_layers.empty()) {
    return {{0, config.num_layers}};
  }
  std::vector<std::pair<int64_t, int64_t>> kinds;
  for (const bool is_mamba : {false, true}) {
    const auto first = std::ranges::find(config.mamba_layers, is_mamba);
    if (first != config.mamba_layers.end()) {
      kinds.emplace_back(first - config.mamba_layers.begin(), std::ranges::count(config.mamba_layers, is_mamba));
    }
  }
  return kinds;
}

}  // namespace

std::string EmbeddingPath(const ModelConfig& config) {
  return std::string(NetworkOf(config).embedding);
}

std::string BasePrefix(const ModelConfig& config) {
  const std::string path = EmbeddingPath(config);
  return path.substr(0, path.find('.') + 1);
}

std::string LayerPath(const ModelConfig& config, int64_t layer) {
  return fmt::format("{}.{}", NetworkOf(config).layers, layer);
}

std::string FinalNormPath(const ModelConfig& config) {
  return std::string(NetworkOf(config).final_norm);
}

ParameterSpec EmbeddingParameter(const ModelConfig& config) {
  return {EmbeddingPath(config) + ".weight", {config.vocab_size, config.hidden_size}};
}

std::string EntryNormPath(const ModelConfig& config) {
  return std::string(NetworkOf(config).entry_norm);
}

bool LearnsPositions(const ModelConfig& config) {
  return !NetworkOf(config).positions.empty();
}

bool HasRotaryPositions(const ModelConfig& config) {
  return NetworkOf(config).rotary && config.rotary_positions;
}

bool HasLayerNorms(const ModelConfig& config) {
  return NetworkOf(config).add_norm == AddLayerNorm;
}

std::vector<ParameterSpec> EntryParameters(const ModelConfig& config) {
  Specs specs;
  if (LearnsPositions(config)) {
    specs.push_back({std::string(NetworkOf(config).positions) + ".weight", {config.max_positions, config.hidden_size}});
  }
  if (const std::string norm = EntryNormPath(config); !norm.empty()) {
    NetworkOf(config).add_norm(specs, norm, config.hidden_size);
  }
  return specs;
}

std::vector<ParameterSpec> LayerParameters(const ModelConfig& config, int64_t layer) {
  return NetworkOf(config).of_layer(LayerPath(config, layer), config, layer);
}

std::vector<ParameterSpec> HeadParameters(const ModelConfig& config) {
  Specs specs;
  NetworkOf(config).add_norm(specs, FinalNormPath(config), config.hidden_size);
  if (!config.tie_word_embeddings) {
    AddLinear(specs, "lm_head", config.vocab_size, config.hidden_size, /*bias=*/false);
  }
  return specs;
}

std::vector<ParameterSpec> AllParameters(const ModelConfig& config) {
  Specs specs = {EmbeddingParameter(config)};
  std::ranges::move(EntryParameters(config), std::back_inserter(specs));
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    std::ranges::move(LayerParameters(config, layer), std::back_inserter(specs));
  }
  std::ranges::move(HeadParameters(config), std::back_inserter(specs));
  return specs;
}

int64_t CountParameters(const ModelConfig& config) {
  const int64_t factors[] = {config.vocab_size,
                             config.hidden_size,
                             config.intermediate_size,
                             config.num_query_heads,
                             config.num_key_value_heads,
                             config.head_dim,
                             config.num_layers,
                             LearnsPositions(config) ? config.max_positions : 1,
                             std::max<int64_t>(config.num_experts, 1),
                             std::max<int64_t>(config.shared_intermediate_size, 1),
                             std::max<int64_t>(config.mamba.channels(), 1)};
  const bool are_sizes =
      std::ranges::all_of(factors, IsSize) && IsSize(config.num_query_heads * config.head_dim);  // the most of them
  if (!are_sizes) {
    return 0;
  }
  int64_t count = Count({EmbeddingParameter(config)}) + Count(EntryParameters(config)) + Count(HeadParameters(config));
  for (const auto& [layer, layers] : KindsOfLayers(config)) {
    const int64_t of_layer = Count(LayerParameters(config, layer));
    if (of_layer > (INT64_MAX - count) / layers) {  // experts are one factor more
      return 0;
    }
    count += layers * of_layer;
  }
  return count;
}

}  // namespace assay::architecture
