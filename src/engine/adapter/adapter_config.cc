#include "engine/adapter/adapter_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "architecture/config_reader.h"
#include "base/json.h"
#include "engine/adapter/target_modules.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using architecture::ConfigReader;

/// Options that change what is computed and that we do not have. An option is off when it is absent, null, false, or an
/// empty list or object.
constexpr std::string_view kUnsupported[] = {
    "use_qalora",
    "use_bdlora",
    "lora_bias",
    "fan_in_fan_out",
    "modules_to_save",
    "exclude_modules",
    "layers_to_transform",
    "layers_pattern",
    "rank_pattern",
    "alpha_pattern",
    "layer_replication",
    "arrow_config",
    "trainable_token_indices",
    "megatron_config",
    "velora_config",
    "monteclora_config",
    "kasa_config",
    "alora_invocation_tokens",
};

bool is_off(const nlohmann::json& value) {
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

/// Of the ways to start an adapter those that change the frozen weights, so that these are no longer the model's, or
/// what is trained: PiSSA, OLoRA, CorDA, LoftQ, LoRA-GA and MiCA. peft repeats them when it loads the adapter.
void refuse_other_base(ConfigReader& keys, const nlohmann::json& document) {
  constexpr std::string_view kSameBase[] = {"gaussian", "eva", "orthogonal"};
  const auto it = document.find("init_lora_weights");
  if (it == document.end() || it->is_null() || it->is_boolean()) {
    return;
  }
  if (!it->is_string() || std::ranges::find(kSameBase, it->get<std::string_view>()) == std::end(kSameBase)) {
    keys.Fail(fmt::format(
        "init_lora_weights is {}, which may stand on other weights than the model's: save the adapter with peft's "
        "path_initial_model_for_weight_conversion",
        DumpJson(*it)));
  }
}

void refuse_unsupported(ConfigReader& keys, const nlohmann::json& document) {
  for (const std::string_view key : kUnsupported) {
    const auto it = document.find(key);
    if (it != document.end() && !is_off(*it)) {
      keys.Fail(
          fmt::format("{} is {}, which is not supported: only plain LoRA and DoRA adapters are", key, DumpJson(*it)));
    }
  }
  if (const std::string bias = keys.TextOr("bias", "none"); bias != "none") {
    keys.Fail(fmt::format("bias is '{}', which is not supported: only 'none' is", bias));
  }
}

bool is_list_of_texts(const nlohmann::json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const auto& item) { return item.is_string(); });
}

void read_targets(ConfigReader& keys, const nlohmann::json& document, LoraConfig& config) {
  const auto it = document.find("target_modules");
  if (it != document.end() && it->is_string()) {
    config.target_pattern = it->get<std::string>();
    return;
  }
  const bool is_absent = it == document.end() || is_off(*it);
  if (is_absent && !config.target_parameters.empty()) {
    return;
  }
  if (is_absent || !is_list_of_texts(*it)) {
    keys.Fail("target_modules must be a list of module names or a regular expression");
    return;
  }
  config.target_modules = it->get<std::vector<std::string>>();
}

void read_target_parameters(ConfigReader& keys, const nlohmann::json& document, LoraConfig& config) {
  const auto it = document.find("target_parameters");
  if (it == document.end() || is_off(*it)) {
    return;
  }
  if (!is_list_of_texts(*it)) {
    keys.Fail("target_parameters must be a list of names");
    return;
  }
  config.target_parameters = it->get<std::vector<std::string>>();
}

}  // namespace

LoraConfig parse_adapter_config(std::string_view text, const std::string& source) {
  const nlohmann::json document = value_or_throw(ParseJson(text, source));
  ConfigReader keys(document, source);
  if (const std::string type = keys.Text("peft_type"); type != "LORA") {
    keys.Fail(fmt::format("peft_type '{}' is not supported, only 'LORA'", type));
  }
  refuse_unsupported(keys, document);
  refuse_other_base(keys, document);
  LoraConfig config;
  config.rank = keys.Integer("r", 1);
  config.alpha = keys.PositiveOr("lora_alpha", 8);
  config.dropout = keys.NonNegativeOr("lora_dropout", 0);
  if (config.dropout >= 1) {
    keys.Fail(fmt::format("lora_dropout must be below 1, not {}", config.dropout));
  }
  config.use_rslora = keys.BooleanOr("use_rslora", false);
  config.use_dora = keys.BooleanOr("use_dora", false);
  read_target_parameters(keys, document, config);
  read_targets(keys, document, config);
  throw_if_error(keys.status());
  return config;
}

std::string adapter_config_text(const LoraConfig& config, const std::string& base_model) {
  nlohmann::json document = {
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"r", config.rank},
      {"lora_alpha", config.alpha},
      {"lora_dropout", config.dropout},
      {"use_rslora", config.use_rslora},
      {"use_dora", config.use_dora},
      {"bias", "none"},
      {"fan_in_fan_out", false},
      {"inference_mode", true},
      {"init_lora_weights", true},
      {"base_model_name_or_path", base_model},
  };
  // peft expects an integer where there is one.
  if (config.alpha == static_cast<double>(static_cast<int64_t>(config.alpha))) {
    document["lora_alpha"] = static_cast<int64_t>(config.alpha);
  }
  if (config.target_pattern.empty()) {
    document["target_modules"] = config.target_modules;
  } else {
    document["target_modules"] = config.target_pattern;
  }
  if (!config.target_parameters.empty()) {
    document["target_parameters"] = config.target_parameters;
  }
  return DumpJsonPretty(document);
}

}  // namespace assay::engine
