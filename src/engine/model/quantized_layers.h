// The products of a decoder's layers in weights of few bits: read as GPTQ's checkpoints hold them, or rounded when the
// model is loaded.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "architecture/model_config.h"
#include "engine/kernels/quantized_weight.h"
#include "engine/model/causal_lm.h"
#include "engine/model/parameter_source.h"
#include "engine/model/weights.h"

namespace assay::engine {

using architecture::Quantization;

/// Stands between a decoder that is built and the source of its parameters: what is quantised the decoder gets as a
/// shape alone, and put_on() brings the weights to its layers.
class QuantizedLayers {
 public:
  /// Layers that the folder holds quantised are read, and the others are as they stand in it; where it has no weights
  /// they are drawn and rounded to what config.json says. Where that says nothing, all are rounded to the nearest
  /// values of `at_load` (bits 0: none is quantised). `weights` may be null and must outlive this. On the meta device
  /// shapes alone. Throws StatusError where config.json says that weights are quantised and none is.
  QuantizedLayers(const ModelConfig& config, const Quantization& at_load, Weights* weights, at::ScalarType dtype,
                  at::Device device);

  /// `source` for what is not quantised. It must not outlive this. Throws StatusError as Weights::take() does, and with
  /// the layer's name where its tensors contradict each other.
  ParameterSource around(ParameterSource source);

  void put_on(CausalLM& model) const;

 private:
  /// Else they are rounded as the model is loaded.
  bool is_read() const { return is_of_file_ && weights_ != nullptr; }
  bool is_stored(std::string_view path) const;
  void check_fills_words(const std::string& path, const std::vector<int64_t>& shape) const;
  QuantizedTensors stored(const std::string& path, const std::vector<int64_t>& shape);
  QuantizedTensors stored_shape(const ParameterSpec& scales, const std::vector<int64_t>& shape) const;
  at::Tensor empty_scales(const ParameterSpec& spec) const;
  at::Tensor stored_zeros(const std::string& path, int64_t groups, int64_t outputs);
  at::Tensor stored_groups(const std::string& path, int64_t groups, int64_t inputs);
  void pass_over_absent_bias(const std::string& path);
  int64_t groups_of(int64_t inputs) const;

  Quantization scheme_;
  bool is_of_file_;  ///< config.json says so
  Weights* weights_;
  at::ScalarType dtype_;
  at::Device device_;
  std::set<std::string> parameters_;  ///< of the layers
  std::map<std::string, FrozenWeightPtr> by_path_;
};

/// How many products of the layers have weights of few bits.
int64_t count_quantized(CausalLM& model);

}  // namespace assay::engine
