// The parameters of a decoder: what the engine builds it from, and what its size is counted by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "architecture/model_config.h"

namespace assay::architecture {

/// How a parameter starts when there are no weights for it: N(0, initializer_range), ones, zeros, or the logarithms of
/// 1, 2, 3 and so on.
enum class Initializer { kNormal, kOnes, kZeros, kLogOfPlace };

/// A parameter of a model.
struct ParameterSpec {
  std::string name;  ///< in the Hugging Face checkpoint
  std::vector<int64_t> shape;
  Initializer initializer = Initializer::kNormal;
};

// The parameters of `config` are these, in this order, which is that of the checkpoint: the embedding and what is done
// to it before the first layer, those of each layer, and the last norm with the head, which a tied one is none of.
ParameterSpec EmbeddingParameter(const ModelConfig& config);
std::vector<ParameterSpec> EntryParameters(const ModelConfig& config);
std::vector<ParameterSpec> LayerParameters(const ModelConfig& config, int64_t layer);
std::vector<ParameterSpec> HeadParameters(const ModelConfig& config);
std::vector<ParameterSpec> AllParameters(const ModelConfig& config);

/// "model.embed_tokens", "model.layers.7", "model.norm": what the names of their parameters begin with.
std::string EmbeddingPath(const ModelConfig& config);
/// "model.": what the names of all parameters but the head's begin with.
std::string BasePrefix(const ModelConfig& config);
std::string LayerPath(const ModelConfig& config, int64_t layer);
std::string FinalNormPath(const ModelConfig& config);
/// "transformer.word_embeddings_layernorm"; empty: the embeddings have no norm.
std::string EntryNormPath(const ModelConfig& config);

/// Whether positions are parameters, and no row may be longer than these.
bool LearnsPositions(const ModelConfig& config);
bool HasRotaryPositions(const ModelConfig& config);
/// Else norms are of the root mean square, with one statistic in place of two.
bool HasLayerNorms(const ModelConfig& config);

/// How many numbers they hold; 0 where a size is one that no model has.
int64_t CountParameters(const ModelConfig& config);

}  // namespace assay::architecture
