#include "engine/model/load_image_classifier.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

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
  const int64_t stored = weights.entry_of(kHeadWeight).shape.front();
  if (!labels_given || stored == config.num_labels) {
    return {};
  }
  return fmt::format("the classifier in {} is for {} classes: the head for {} classes starts from random weights",
                     weights.source(), stored, config.num_labels);
}

std::vector<ParameterSpec> parameters_of(const VitConfig& config, at::ScalarType dtype) {
  std::vector<ParameterSpec> specs;
  const ParameterSource shapes = [&](const ParameterSpec& spec) {
    specs.push_back(spec);
    return at::empty(spec.shape, at::TensorOptions(dtype).device(c10::kMeta));
  };
  const Vit whole(config, shapes, dtype);
  return specs;
}

/// What is read of a folder, and as which model.
struct Folder {
  VitConfig config;
  std::optional<Weights> weights;
  std::string new_head;
};

Folder open_folder(const std::string& model_dir, const ImageClassifierOptions& options) {
  Folder folder{.config = read_vit_config(model_dir), .weights = Weights::open(model_dir, kBasePrefix), .new_head = {}};
  if (!options.labels.empty()) {
    folder.config = with_labels(std::move(folder.config), options.labels);
  }
  if (folder.weights) {
    folder.new_head = reason_for_new_head(*folder.weights, folder.config, !options.labels.empty());
  }
  return folder;
}

ParameterMaker maker_of(const Folder& folder, const ImageClassifierOptions& options) {
  const auto is_stored = [draws_head = !folder.new_head.empty()](const ParameterSpec& spec) {
    return !draws_head || !spec.name.starts_with(kHeadPrefix);
  };
  return {
      parameters_of(folder.config, options.dtype),
      folder.weights,
      {options.dtype, options.device, folder.config.initializer_range, options.seed, vit_split_rules(), options.tensor},
      is_stored};
}

/// Of the weights, what this part of the model does not take counts as taken where another part does, and what no
/// classifier needs.
void pass_over_rest(const Folder& folder, const ImageClassifierOptions& options, Weights& weights) {
  for (const ParameterSpec& spec : parameters_of(folder.config, options.dtype)) {
    weights.leave_to_others(spec.name);
  }
  for (const char* left_out : kLeftOut) {
    weights.pass_over(left_out);
    weights.pass_over(std::string(kBasePrefix) + left_out);
  }
  if (!folder.new_head.empty()) {
    weights.pass_over(kHeadPrefix);
  }
}

}  // namespace

LoadedImageClassifier load_image_classifier(const std::string& model_dir, const ImageClassifierOptions& options,
                                            const MadeParameters& made) {
  check_dtypes(options);
  const Folder folder = open_folder(model_dir, options);
  ParameterMaker maker = maker_of(folder, options);
  LoadedImageClassifier loaded{.model = nullptr, .random_weights = !folder.weights, .new_head = folder.new_head};
  loaded.model = std::make_unique<Vit>(folder.config, maker.source(made), options.compute_dtype, options.part);
  if (maker.weights() != nullptr) {
    pass_over_rest(folder, options, *maker.weights());
    maker.weights()->check_all_taken();
  }
  return loaded;
}

ParameterMaker parameter_maker(const std::string& model_dir, const ImageClassifierOptions& options) {
  return maker_of(open_folder(model_dir, options), options);
}

}  // namespace assay::engine
