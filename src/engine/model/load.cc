#include "engine/model/load.h"

#include <utility>

#include "architecture/model_config.h"
#include "architecture/parameters.h"
#include "engine/model/decoder.h"
#include "engine/model/quantized_layers.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

ParameterMaker maker_of(const ModelConfig& config, const std::string& model_dir, const ParameterOptions& options) {
  return {architecture::AllParameters(config), Weights::open(model_dir, architecture::BasePrefix(config)), options};
}

}  // namespace

std::unique_ptr<CausalLM> load_model(const std::string& model_dir, at::ScalarType dtype, at::Device device,
                                     uint64_t seed, bool& random_weights, const TensorPlace& place,
                                     const ModelPart& part, const MadeParameters& made, const Quantization& quantize) {
  const ModelConfig config = value_or_throw(architecture::ReadModelConfig(model_dir));
  ParameterMaker maker =
      maker_of(config, model_dir, {dtype, device, config.initializer_range, seed, decoder_split_rules(), place});
  QuantizedLayers quantized(config, quantize, maker.weights(), dtype, device);
  std::unique_ptr<CausalLM> model = std::make_unique<Decoder>(config, quantized.around(maker.source(made)), part);
  quantized.put_on(*model);
  if (Weights* weights = maker.weights(); weights != nullptr) {
    for (const ParameterSpec& spec : architecture::AllParameters(config)) {
      weights->leave_to_others(spec.name);
    }
    weights->check_all_taken(config.tie_word_embeddings ? architecture::EmbeddingParameter(config).name : "");
  }
  random_weights = maker.weights() == nullptr;
  return model;
}

ParameterMaker parameter_maker(const std::string& model_dir, at::ScalarType dtype, at::Device device, uint64_t seed,
                               const TensorPlace& place) {
  const ModelConfig config = value_or_throw(architecture::ReadModelConfig(model_dir));
  return maker_of(config, model_dir, {dtype, device, config.initializer_range, seed, decoder_split_rules(), place});
}

}  // namespace assay::engine
