#include "engine/model/decoder_layer.h"

#include <algorithm>
#include <utility>

#include "engine/model/bloom_layer.h"
#include "engine/model/feature_dropout.h"
#include "engine/model/gpt_bigcode_layer.h"
#include "engine/model/granite_hybrid_layer.h"
#include "engine/model/llama_layer.h"
#include "engine/model/mixtral_layer.h"
#include "engine/model/random_normal.h"

namespace assay::engine {

at::Tensor LayerRun::drop(const at::Tensor& x_TH, std::string_view path) const {
  return drop_features(x_TH, training ? config.residual_dropout : 0, batch.draw_keys_T, path);
}

DecoderLayer::DecoderLayer(std::string path, std::vector<Linear*> linears, std::vector<Norm*> norms)
    : attention_path(std::move(path)), linears_(std::move(linears)), norms_(std::move(norms)) {}

bool DecoderLayer::trains() const {
  return std::ranges::any_of(norms_, &Norm::trains) || std::ranges::any_of(linears_, &Linear::trains) ||
         std::ranges::any_of(stacks_,
                             [](const auto* stack) { return stack->lora && stack->lora->a_rI.requires_grad(); }) ||
         std::ranges::any_of(others_, [](const auto& other) { return other.second->requires_grad(); });
}

at::Tensor& DecoderLayer::place(std::string_view name) {
  for (Linear* linear : linears_) {
    if (name == linear->path + ".weight") {
      return linear->weight_OI;
    }
    if (name == linear->path + ".bias") {
      return linear->bias_O.emplace();
    }
  }
  for (Norm* norm : norms_) {
    if (name == norm->path + ".weight") {
      return norm->weight_H;
    }
    if (name == norm->path + ".bias") {
      return norm->bias_H;
    }
  }
  for (const auto& [other, place] : others_) {
    if (name == other) {
      return *place;
    }
  }
  TORCH_CHECK(false, "a decoder layer has no parameter ", name);
}

at::Tensor DecoderLayer::attend(const at::Tensor& q_TND, const at::Tensor& k_TKD, const at::Tensor& v_TKD,
                                const LayerRun& run, int64_t part, int64_t beside) const {
  const ModelConfig& config = run.config;
  const int64_t head_dim = config.head_dim + beside;
  const int64_t heads = q_TND.size(1) / head_dim;
  const AttentionOptions options{.query_heads = heads,
                                 .key_value_heads = k_TKD.size(1) / head_dim,
                                 .head_dim = head_dim,
                                 .scale = config.attention_scale,
                                 .sliding_window = sliding_window,
                                 .dropout = run.training ? config.attention_dropout : 0,
                                 .dropout_stream = stream_key(0, attention_path) + static_cast<uint64_t>(part * heads)};
  const RotaryTable* rotary = run.rotary.cos_PD2.defined() ? &run.rotary : nullptr;
  if (run.cache != nullptr) {
    return cached_attention(q_TND, k_TKD, v_TKD, run.batch, rotary, options, run.cache->attention);
  }
  return attention(q_TND, k_TKD, v_TKD, run.batch, rotary, options, run.kept);
}

std::unique_ptr<DecoderLayer> make_decoder_layer(const ModelConfig& config, const std::string& path, int64_t index) {
  switch (config.network) {
    case architecture::Network::kLlama:
      return std::make_unique<LlamaLayer>(config, path);
    case architecture::Network::kGptBigCode:
      return std::make_unique<GptBigCodeLayer>(path);
    case architecture::Network::kBloom:
      return std::make_unique<BloomLayer>(config, path);
    case architecture::Network::kMixtral:
      return std::make_unique<MixtralLayer>(config, path);
    case architecture::Network::kGraniteHybrid:
      return make_granite_hybrid_layer(config, path, index);
  }
  TORCH_CHECK(false, "a network without layers");
}

}  // namespace assay::engine
