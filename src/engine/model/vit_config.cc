#include "engine/model/vit_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "architecture/config_reader.h"
#include "base/files.h"
#include "base/json.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using architecture::ConfigReader;

constexpr char kModelType[] = "vit";
/// What transformers gives a config without `id2label` and `num_labels`.
constexpr int64_t kDefaultLabels = 2;

/// A number of pixels; transformers also takes [height, width].
int64_t read_square(ConfigReader& keys, const nlohmann::json& document, const char* key, int64_t absent) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_array()) {
    return keys.IntegerOr(key, 1, absent);
  }
  const auto& sides = *found;
  const bool square = sides.size() == 2 && sides[0].is_number_integer() && sides[0] == sides[1] && sides[0] > 0;
  if (!square) {
    keys.Fail(fmt::format("{} {} is not supported, only squares are", key, DumpJson(sides)));
    return absent;
  }
  return sides[0].get<int64_t>();
}

GeluForm read_activation(ConfigReader& keys) {
  const std::string name = keys.TextOr("hidden_act", "gelu");
  if (name == "gelu" || name == "gelu_python") {
    return GeluForm::kErf;
  }
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") {
    return GeluForm::kTanh;
  }
  keys.Fail(fmt::format("hidden_act '{}' is not supported, only 'gelu', 'gelu_new' and 'gelu_pytorch_tanh'", name));
  return GeluForm::kErf;
}

int64_t read_label_count(ConfigReader& keys, const nlohmann::json& document) {
  const auto names = document.find("id2label");
  const bool listed = names != document.end() && names->is_object();
  const int64_t count = listed ? static_cast<int64_t>(names->size()) : keys.IntegerOr("num_labels", 1, kDefaultLabels);
  if (count < 2) {
    keys.Fail("a model with one label is a regression, which is not supported: give id2label two classes or more");
  }
  return count;
}

void refuse_other_kinds(ConfigReader& keys) {
  const std::string type = keys.Text("model_type");
  throw_if_error(keys.status());
  if (type != kModelType) {
    throw StatusError(Status::Unsupported(
        fmt::format("model_type '{}' is not supported as an image classifier, only '{}'", type, kModelType)));
  }
  for (const char* key : {"hidden_dropout_prob", "attention_probs_dropout_prob"}) {
    if (keys.NonNegativeOr(key, 0.0) != 0.0) {
      keys.Fail(fmt::format("{} other than 0 is not supported", key));
    }
  }
  const std::string problem = keys.TextOr("problem_type", "single_label_classification");
  if (problem != "single_label_classification") {
    keys.Fail(fmt::format("problem_type '{}' is not supported, only 'single_label_classification'", problem));
  }
}

void check_sizes(ConfigReader& keys, const VitConfig& config) {
  if (config.image_size % config.patch_size != 0) {
    keys.Fail(fmt::format("patch_size {} does not divide image_size {}", config.patch_size, config.image_size));
  }
  if (config.hidden_size % config.num_heads != 0) {
    keys.Fail(
        fmt::format("num_attention_heads {} does not divide hidden_size {}", config.num_heads, config.hidden_size));
  }
}

}  // namespace

VitConfig parse_vit_config(std::string_view json, const std::string& source) {
  const nlohmann::json document = value_or_throw(ParseJson(json, source));
  ConfigReader keys(document, source);
  refuse_other_kinds(keys);
  VitConfig config;
  config.model_type = kModelType;
  config.json = std::string(json);
  config.image_size = read_square(keys, document, "image_size", 224);
  config.patch_size = read_square(keys, document, "patch_size", 16);
  config.num_channels = keys.IntegerOr("num_channels", 1, 3);
  config.num_labels = read_label_count(keys, document);
  config.hidden_size = keys.IntegerOr("hidden_size", 1, 768);
  config.intermediate_size = keys.IntegerOr("intermediate_size", 1, 3072);
  config.num_layers = keys.IntegerOr("num_hidden_layers", 1, 12);
  config.num_heads = keys.IntegerOr("num_attention_heads", 1, 12);
  config.activation = read_activation(keys);
  config.layer_norm_eps = keys.PositiveOr("layer_norm_eps", 1e-12);
  config.initializer_range = keys.PositiveOr("initializer_range", 0.02);
  config.qkv_bias = keys.BooleanOr("qkv_bias", true);
  check_sizes(keys, config);
  throw_if_error(keys.status());
  return config;
}

VitConfig read_vit_config(const std::string& model_dir) {
  const std::string path = value_or_throw(architecture::ConfigPath(model_dir));
  VitConfig config = parse_vit_config(value_or_throw(ReadFile(path)), path);
  config.source_dir = model_dir;
  return config;
}

VitConfig with_labels(VitConfig config, const std::vector<std::string>& names) {
  nlohmann::json document = value_or_throw(ParseJson(config.json, "config.json"));
  nlohmann::json id_to_label = nlohmann::json::object();
  nlohmann::json label_to_id = nlohmann::json::object();
  for (size_t i = 0; i < names.size(); ++i) {
    id_to_label[std::to_string(i)] = names[i];
    label_to_id[names[i]] = i;
  }
  document["id2label"] = std::move(id_to_label);
  document["label2id"] = std::move(label_to_id);
  document.erase("num_labels");
  config.json = DumpJson(document);
  config.num_labels = static_cast<int64_t>(names.size());
  return config;
}

}  // namespace assay::engine
