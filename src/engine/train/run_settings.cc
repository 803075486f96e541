#include "engine/train/run_settings.h"

#include <fmt/format.h>

#include "base/text.h"
#include "engine/train/fingerprint.h"

namespace assay::engine {
namespace {

using Settings = std::map<std::string, std::string>;

Settings shared_settings(const job::TrainingPlan& plan) {
  return {{"the seed", fmt::format("{}", plan.seed)},
          {"shuffling", plan.shuffle ? "on" : "off"},
          {"the optimiser", plan.optimizer}};
}

}  // namespace

Settings settings_of(const job::TunePlan& plan) {
  Settings settings = shared_settings(plan);
  settings["the method"] = plan.method;
  settings["rows a step"] =
      fmt::format("{}", plan.batch_size * plan.gradient_accumulation_steps * job::DataRanks(plan));
  settings["model_max_length"] = fmt::format("{}", plan.model_max_length);
  settings["the rows"] = fingerprint_of_file(plan.tokens_file);
  if (plan.method == "lora") {
    const job::LoraOptions& lora = plan.lora;
    settings["the base model"] = fingerprint_of_model(plan.model_dir);
    settings["the adapter"] = lora.adapter_dir.empty()
                                  ? fmt::format("rank {}, alpha {}, dropout {} on {}", lora.rank, lora.alpha,
                                                lora.dropout, Join(lora.target_modules, " "))
                                  : fingerprint_of_file(lora.adapter_dir + "/adapter_config.json");
  }
  return settings;
}

Settings settings_of(const job::VitPlan& plan) {
  Settings settings = shared_settings(plan);
  settings["images a step"] = fmt::format("{}", plan.batch_size * job::DataRanks(plan));
  settings["the images"] = plan.train_file.empty() ? fmt::format("drawn of {} classes", plan.synthetic_labels)
                                                   : fingerprint_of_file(plan.train_file);
  return settings;
}

}  // namespace assay::engine
