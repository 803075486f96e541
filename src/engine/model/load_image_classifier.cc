#include "engine/model/load_image_classifier.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "engine/model/random_parameter.h"
#include "engine/model/weights.h"

namespace assay::engine {
namespace {

constexpr std::string_view kBasePrefix = "vit.";
constexpr std::string_view kHeadPrefix = "classifier.";
/// Parts of ViTModel that a classifier does not use.
constexpr std::array kLeftOut = {"pooler.", "embeddings.mask_token"};
constexpr char kHeadWeight[] = "classifier.weight";

void check_dtypes(const ImageClassifierOptions& options) {
  const bool sixteen_bits = options.compute_dtype == at::kBFloat16 || options.compute_dtype == at::kHalf;
  const bool mixed = options.dtype == at::kFloat && sixteen_bits;
  if (options.dtype != options.compute_dtype && !mixed) {
    throw std::invalid_argument(fmt::format(
        "parameters of {} and products of {} do not go together: mixed precision is float32 with bfloat16 or float16",
        c10::toString(options.dtype), c10::toString(options.compute_dtype)));
  }
}

/// Why the stored head cannot be used for the classes that were asked for; empty when it can.
std::string reason_for_new_head(const Weights& weights, const VitConfig& config, bool labels_given) {
  if (!weights.has(kHeadWeight)) {
    return fmt::format("{} holds no classifier: the head for {} classes starts from random weights", weights.source(),
                       config.num_labels);
  }
  const int64_t stored = weights.shape(kHeadWeight).front();
  if (!labels_given || stored == config.num_labels) {
    return {};
  }
  return fmt::format("the classifier in {} is for {} classes: the head for {} classes starts from random weights",
                     weights.source(), stored, config.num_labels);
}

/// ViTModel's checkpoints name the same tensors without the prefix.
ParameterSpec as_stored(const Weights& weights, const ParameterSpec& spec) {
  ParameterSpec stored = spec;
  if (!weights.has(spec.name) && spec.name.starts_with(kBasePrefix)) {
    if (const std::string bare = spec.name.substr(kBasePrefix.size()); weights.has(bare)) {
      stored.name = bare;
    }
  }
  return stored;
}

/// Tensors that other parts of the model take count as taken.
void pass_over_other_parts(Weights& weights, const VitConfig& config, at::ScalarType dtype) {
  const Vit whole(
      config,
      [&](const ParameterSpec& spec) {
        weights.pass_over(as_stored(weights, spec).name);
        return at::empty(spec.shape, at::TensorOptions(dtype).device(c10::kMeta));
      },
      dtype);
}

}  // namespace

LoadedImageClassifier load_image_classifier(const std::string& model_dir, const ImageClassifierOptions& options) {
  check_dtypes(options);
  VitConfig config = read_vit_config(model_dir);
  if (!options.labels.empty()) {
    config = with_labels(std::move(config), options.labels);
  }
  std::optional<Weights> weights = Weights::open(model_dir);
  LoadedImageClassifier loaded;
  loaded.random_weights = !weights.has_value();
  if (weights) {
    loaded.new_head = reason_for_new_head(*weights, config, !options.labels.empty());
  }
  const ParameterSource source = [&](const ParameterSpec& spec) {
    const bool random = !weights || (!loaded.new_head.empty() && spec.name.starts_with(kHeadPrefix));
    at::Tensor parameter =
        random ? random_parameter(spec, config.initializer_range, options.dtype, options.seed).to(options.device)
               : weights->take(as_stored(*weights, spec), options.dtype, options.device);
    parameter = cut_for_rank(vit_split_rules(), spec.name, parameter, options.tensor);
    return parameter.defined() ? parameter.requires_grad_() : parameter;
  };
  loaded.model = std::make_unique<Vit>(config, source, options.compute_dtype, options.part);
  if (weights) {
    if (loaded.model->num_layers() < config.num_layers) {
      pass_over_other_parts(*weights, config, options.dtype);
    }
    for (const char* left_out : kLeftOut) {
      weights->pass_over(left_out);
      weights->pass_over(std::string(kBasePrefix) + left_out);
    }
    if (!loaded.new_head.empty()) {
      weights->pass_over(kHeadPrefix);
    }
    weights->check_all_taken(/*tied_head=*/false);
  }
  return loaded;
}

}  // namespace assay::engine
