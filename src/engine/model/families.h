// The table of model families: what it takes to read a family's config.json and to build its model.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/config_reader.h"

namespace assay::engine {

/// How a parameter starts when there are no weights for it.
enum class Initializer { kNormal, kOnes, kZeros };

/// A parameter that a model is about to take in.
struct ParameterSpec {
  std::string name;  ///< in the Hugging Face checkpoint
  std::vector<int64_t> shape;
  Initializer initializer = Initializer::kNormal;
};

/// Hands out parameters of the right shape, dtype and device; a model asks for each exactly once, in the order of the
/// checkpoint.
using ParameterSource = std::function<at::Tensor(const ParameterSpec& spec)>;

/// A row of the table. Adding a family: its `read` and `build`, a row in families.cc, a parity test.
struct ModelFamily {
  std::string_view model_type;    ///< `model_type` of config.json
  std::string_view architecture;  ///< `architectures` of config.json
  /// Fills what the family's keys say; the reader throws on a bad one.
  void (*read)(const ConfigReader& keys, ModelConfig& config);
  std::unique_ptr<CausalLM> (*build)(const ModelConfig& config, const ParameterSource& parameters);
};

std::span<const ModelFamily> model_families();

/// The row of `model_type`, or nullptr.
const ModelFamily* find_model_family(std::string_view model_type);

}  // namespace assay::engine
