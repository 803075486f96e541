// Image classifiers from and to Hugging Face folders.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/parameter_maker.h"
#include "engine/model/vit.h"

namespace assay::engine {

struct ImageClassifierOptions {
  at::ScalarType dtype = at::kFloat;          ///< of the parameters
  at::ScalarType compute_dtype = at::kFloat;  ///< of the products: `dtype`, or 16 bits beside float32 parameters
  at::Device device = at::kCPU;
  uint64_t seed = 0;  ///< of random parameters
  /// The classes to tell apart; empty: those of config.json. With another number of them than the stored head has, the
  /// head starts anew.
  std::vector<std::string> labels;
  ModelPart part = {};      ///< what is built of the model
  TensorPlace tensor = {};  ///< what of each parameter is kept, by vit_split_rules()
};

struct LoadedImageClassifier {
  std::unique_ptr<Vit> model;
  bool random_weights = false;  ///< the folder holds no weights at all
  std::string new_head;         ///< one line that says why the head is random although there are weights; else empty
};

/// Builds the model that `model_dir`/config.json describes (a ViT). Weights come as load_model() takes them, from a
/// checkpoint of ViTForImageClassification or of the bare ViTModel, whose pooler is left out; without any they are
/// random: N(0, initializer_range), norms 1, biases 0. All parameters require grad. Throws StatusError with one line
/// that names the file and the tensor, std::invalid_argument for dtypes that do not go together.
/// Those parameters that are in `made` already are taken from there.
LoadedImageClassifier load_image_classifier(const std::string& model_dir, const ImageClassifierOptions& options,
                                            const MadeParameters& made = {});

/// What load_image_classifier() takes the parameters of the whole model from. Throws StatusError.
ParameterMaker parameter_maker(const std::string& model_dir, const ImageClassifierOptions& options);

/// Writes the model as save_model() does, in the dtype of its parameters; transformers' from_pretrained reads it.
/// preprocessor_config.json comes along from the folder that the model came from.
void save_image_classifier(const ImageClassifier& model, const std::string& output_dir);
/// The same with `parameters` in the place of the model's own, for one whose parameters are spread over ranks, and with
/// files of at most `max_shard_bytes`, or one tensor.
void save_image_classifier(const ImageClassifier& model, std::vector<NamedTensor> parameters,
                           const std::string& output_dir, int64_t max_shard_bytes);

}  // namespace assay::engine
