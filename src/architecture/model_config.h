// What a Hugging Face config.json says about a decoder, in plain terms.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "architecture/quantization.h"
#include "base/status.h"

namespace assay::architecture {

/// How rotary positions are stretched beyond the length a model was first trained on.
enum class RopeType { kDefault, kLinear, kDynamic, kYarn, kLlama3 };

/// Rotary position settings, from `rope_theta` + `rope_scaling` (transformers 4) or `rope_parameters` (transformers 5).
struct RopeConfig {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;
  double factor = 1.0;
  int64_t original_max_positions = 0;  ///< llama3, yarn: the length before stretching
  double low_freq_factor = 1.0;        ///< llama3
  double high_freq_factor = 4.0;       ///< llama3
  double beta_fast = 32.0;             ///< yarn
  double beta_slow = 1.0;              ///< yarn
  double attention_factor = 0.0;       ///< yarn; 0: derived from factor, mscale and mscale_all_dim
  double mscale = 0.0;                 ///< yarn; 0: absent
  double mscale_all_dim = 0.0;         ///< yarn; 0: absent
  bool truncate = true;                ///< yarn: round the correction range to whole dimensions
};

/// Whose layers a decoder has; within a network, families differ only in the values of ModelConfig.
enum class Network { kLlama, kGptBigCode, kMixtral, kBloom, kGraniteHybrid };

/// Layers of Mamba-2.
struct MambaConfig {
  int64_t inner = 0;  ///< features: those of all heads
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t groups = 1;  ///< of heads, that share what the state takes in and gives; divides heads
  int64_t state = 0;   ///< numbers that the state holds for each feature
  int64_t taps = 4;    ///< of the convolution
  bool conv_bias = true;
  bool projection_bias = false;
  double shortest_step = 0.0;  ///< limits of a step in time
  double longest_step = std::numeric_limits<double>::infinity();

  /// Channels of the convolution.
  int64_t channels() const { return inner + 2 * groups * state; }
};

/// A decoder: embeddings, layers of attention and an MLP on a residual stream, a last norm and a head.
struct ModelConfig {
  std::string model_type;
  Network network = Network::kLlama;
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t num_layers = 0;
  int64_t num_query_heads = 0;
  int64_t num_key_value_heads = 0;  ///< divides num_query_heads
  int64_t head_dim = 0;             ///< even; need not be hidden_size / num_query_heads
  int64_t max_positions = 0;
  /// Of each layer: keys that a query sees, its own included; 0: all earlier ones.
  std::vector<int64_t> layer_windows;
  double norm_eps = 1e-6;
  double initializer_range = 0.02;
  double attention_dropout = 0.0;  ///< of attention probabilities, while training
  double embedding_dropout = 0.0;  ///< of what the first layer takes in, while training
  double residual_dropout = 0.0;   ///< of what each block adds to the residual stream, while training
  int64_t pad_token_id = -1;       ///< its embedding gets no gradient through the look-up; -1: none
  bool tie_word_embeddings = false;
  bool query_key_value_bias = false;
  bool output_bias = false;  ///< of attention's output
  bool mlp_bias = false;
  bool query_key_norm = false;           ///< of each head, before it is rotated
  bool gelu_tanh = false;                ///< GPT-BigCode, Bloom: by its tangent, else exact
  int64_t num_experts = 0;               ///< mixtral: of each layer's MLP
  int64_t experts_per_token = 0;         ///< mixtral: that a token goes through
  bool stacked_experts = false;          ///< mixtral: one tensor holds the weights of all experts
  int64_t shared_intermediate_size = 0;  ///< Granite 4: of the MLP that every token goes through, beside its experts
  std::vector<bool> mamba_layers;        ///< Granite 4: of each layer: Mamba-2 in the place of attention; else empty
  MambaConfig mamba;
  bool rotary_positions = true;          ///< of the networks that may have them
  double router_loss_coefficient = 0.0;  ///< mixtral: of the routers' auxiliary loss; 0: none is in the loss
  double embedding_multiplier = 1.0;
  double residual_multiplier = 1.0;
  double attention_scale = 0.0;  ///< of the scores: 1 / sqrt(head_dim), or Granite's attention_multiplier
  double logits_divisor = 1.0;   ///< Granite's logits_scaling
  RopeConfig rope;
  Quantization quantization;

  std::string source_dir;  ///< the folder it was read from; empty when parsed from text
  std::string json;        ///< the whole config.json, kept so that it is written back with every key it had
};

/// Reads `model_dir`/config.json. An error is one line that names the file and the key: the folder or the file is
/// missing, is not JSON, has an unsupported model_type, lacks a key or holds a value that makes no sense.
Result<ModelConfig> ReadModelConfig(const std::string& model_dir);

/// The same for the text of a config.json; `source` names it in messages.
Result<ModelConfig> ParseModelConfig(std::string_view json, const std::string& source);

}  // namespace assay::architecture
