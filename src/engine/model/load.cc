#include "engine/model/load.h"

#include <optional>
#include <utility>

#include "engine/model/decoder.h"
#include "engine/model/random_parameter.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"
#include "engine/model/weights.h"

namespace assay::engine {

std::unique_ptr<CausalLM> load_model(const std::string& model_dir, at::ScalarType dtype, at::Device device,
                                     uint64_t seed, bool& random_weights, const TensorPlace& place) {
  const ModelConfig config = value_or_throw(architecture::ReadModelConfig(model_dir));
  std::optional<Weights> weights = Weights::open(model_dir);
  const ParameterSource source = [&](const ParameterSpec& spec) {
    const at::Tensor whole = weights ? weights->take(spec, dtype, device)
                                     : random_parameter(spec, config.initializer_range, dtype, seed).to(device);
    const at::Tensor parameter = cut_for_rank(decoder_split_rules(), spec.name, whole, place);
    return parameter.defined() ? parameter.requires_grad_() : parameter;
  };
  std::unique_ptr<CausalLM> model = std::make_unique<Decoder>(config, source);
  if (weights) {
    weights->check_all_taken(config.tie_word_embeddings);
  }
  random_weights = !weights.has_value();
  return model;
}

int64_t mapped_weight_bytes() {
  return mapped_safetensors_bytes();
}

}  // namespace assay::engine
