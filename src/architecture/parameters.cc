#include "architecture/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

}  // namespace

std::string LayerPath(int64_t layer) {
  return fmt::format("model.layers.{}", layer);
}

ParameterSpec EmbeddingParameter(const ModelConfig& config) {
  return {"model.embed_tokens.weight", {config.vocab_size, config.hidden_size}};
}

std::vector<ParameterSpec> LayerParameters(const ModelConfig& config, int64_t layer) {
  const std::string path = LayerPath(layer);
  Specs specs;
  AddAttention(specs, path + ".self_attn", config);
  AddMlp(specs, path + ".mlp", config);
  AddNorm(specs, path + ".input_layernorm", config.hidden_size);
  AddNorm(specs, path + ".post_attention_layernorm", config.hidden_size);
  return specs;
}

std::vector<ParameterSpec> HeadParameters(const ModelConfig& config) {
  Specs specs;
  AddNorm(specs, "model.norm", config.hidden_size);
  if (!config.tie_word_embeddings) {
    AddLinear(specs, "lm_head", config.vocab_size, config.hidden_size, /*bias=*/false);
  }
  return specs;
}

std::vector<ParameterSpec> AllParameters(const ModelConfig& config) {
  Specs specs = {EmbeddingParameter(config)};
  for (int64_t layer = 0; layer < config.num_layers; ++layer) {
    std::ranges::move(LayerParameters(config, layer), std::back_inserter(specs));
  }
  std::ranges::move(HeadParameters(config), std::back_inserter(specs));
  return specs;
}

int64_t CountParameters(const ModelConfig& config) {
  const int64_t factors[] = {config.vocab_size,      config.hidden_size,         config.intermediate_size,
                             config.num_query_heads, config.num_key_value_heads, config.head_dim,
                             config.num_layers};
  const bool are_sizes =
      std::ranges::all_of(factors, IsSize) && IsSize(config.num_query_heads * config.head_dim);  // the most of them
  return are_sizes ? Count({EmbeddingParameter(config)}) + config.num_layers * Count(LayerParameters(config, 0)) +
                         Count(HeadParameters(config))
                   : 0;
}

}  // namespace assay::architecture
