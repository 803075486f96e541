// Models from and to Hugging Face folders.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/causal_lm.h"
#include "engine/model/model_part.h"
#include "engine/model/parameter_maker.h"

namespace assay::engine {

/// Builds the model that `model_dir`/config.json describes, with parameters of `dtype` on `device`.
///
/// Weights come from model.safetensors or from the shards that model.safetensors.index.json lists. On the CPU a tensor
/// that already has `dtype` is the mapped file itself, copy-on-write: training it never changes the file. When the
/// folder holds no weights at all they are drawn from N(0, initializer_range) by `seed` (norms 1, biases 0), the same
/// for every number of threads, and `random_weights` is set. All parameters require grad.
/// Only `part` of the model is built, and of each parameter only what the rank at `place` has is kept; those that are
/// in `made` already are taken from there. Quantised layers are as QuantizedLayers has them with `quantize`; of a
/// quantised model they have no gradient. Throws StatusError with one line that names the file and the tensor.
std::unique_ptr<CausalLM> load_model(const std::string& model_dir, at::ScalarType dtype, at::Device device,
                                     uint64_t seed, bool& random_weights, const TensorPlace& place = {},
                                     const ModelPart& part = {}, const MadeParameters& made = {},
                                     const architecture::Quantization& quantize = {});

/// What load_model() takes the parameters from. Throws StatusError.
ParameterMaker parameter_maker(const std::string& model_dir, at::ScalarType dtype, at::Device device, uint64_t seed,
                               const TensorPlace& place = {});

/// Writes config.json and model.safetensors (shards of at most 5 GB and an index when larger), which transformers'
/// from_pretrained reads, and copies the tokeniser files of the folder the model came from. Every file appears under
/// its name only when it is whole. Adapters are not part of it. Throws StatusError.
void save_model(const CausalLM& model, const std::string& output_dir);
/// The same with other values, of all its parameters in any order: of a model whose own are spread over ranks.
void save_model(const CausalLM& model, std::vector<NamedTensor> parameters, const std::string& output_dir,
                int64_t max_shard_bytes);

}  // namespace assay::engine
