#include "engine/train/run_settings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/model/status_error.h"
#include "engine/train/fingerprint.h"
#include "engine/train/streamed_source.h"

namespace assay::engine {
namespace {

using Settings = std::map<std::string, std::string>;

Settings shared_settings(const job::TrainingPlan& plan) {
  return {{"the seed", fmt::format("{}", plan.seed)},
          {"shuffling", plan.shuffle ? "on" : "off"},
          {"the optimiser", plan.optimizer}};
}

/// What decides an adapter's shape and what it computes.
std::string adapter_of(const job::TunePlan& plan) {
  const std::string& folder = plan.method == "lora" ? plan.lora.adapter_dir : plan.prompt.adapter_dir;
  if (!folder.empty()) {
    return fingerprint_of_file(folder + "/adapter_config.json");
  }
  return plan.method == "lora"
             ? fmt::format("rank {}{}{}, alpha {}, dropout {} on {}", plan.lora.rank,
                           plan.lora.use_rslora ? " (stabilised)" : "", plan.lora.use_dora ? " with lengths" : "",
                           plan.lora.alpha, plan.lora.dropout, Join(plan.lora.target_modules, " "))
             : fmt::format("prompt of {}", plan.prompt.length);
}

/// What the model computes of its weights: all of config.json but where it came from and in which type it is loaded.
std::string network_of(const std::string& model_dir) {
  nlohmann::json config = value_or_throw(ReadJsonFile(model_dir + "/config.json"));
  for (const char* name :
       {"_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version", "use_cache"}) {
    config.erase(name);
  }
  return Sha256Hex(DumpJson(config)).substr(0, 12);
}

std::string fingerprint_of_images(const job::VitPlan& plan) {
  if (!plan.data_uri.empty()) {
    return plan.data_fingerprint.substr(0, 12);
  }
  return plan.train_file.empty() ? fmt::format("drawn of {} classes", plan.synthetic_labels)
                                 : fingerprint_of_file(plan.train_file);
}

}  // namespace

Settings settings_of(const job::TunePlan& plan) {
  Settings settings = shared_settings(plan);
  settings["the method"] = plan.method;
  settings["rows a step"] =
      fmt::format("{}", plan.batch_size * plan.gradient_accumulation_steps * job::DataRanks(plan));
  if (plan.packing) {
    settings["packing"] = "on";
  }
  settings["model_max_length"] = fmt::format("{}", plan.model_max_length);
  settings["the rows"] = fingerprint_of_rows(plan);
  if (!plan.data_uri.empty()) {
    settings["the order of rows"] = order_of_streamed(plan);
  }
  if (plan.method == "full") {
    settings["the config.json"] = network_of(plan.model_dir);
  } else {
    settings["the base model"] = fingerprint_of_model(plan.model_dir);
    settings["the adapter"] = adapter_of(plan);
    if (plan.quantize_bits > 0) {
      settings["weights of"] = fmt::format("{} bits in groups of {}", plan.quantize_bits, plan.quantize_group_size);
    }
  }
  return settings;
}

Settings settings_of(const job::VitPlan& plan) {
  Settings settings = shared_settings(plan);
  settings["images a step"] = fmt::format("{}", plan.batch_size * job::DataRanks(plan));
  settings["the images"] = fingerprint_of_images(plan);
  if (!plan.data_uri.empty()) {
    settings["the order of images"] = order_of_streamed(plan);
  }
  settings["the config.json"] = network_of(plan.model_dir);
  return settings;
}

}  // namespace assay::engine
