// Points and runs that the tests of this module use.
#pragma once

#include <string>
#include <utility>

#include "experiment/catalogue.h"
#include "experiment/point.h"

namespace assay::experiment::testing {

inline constexpr char kFull[] = "finetune_full_benchmark-v1.0.0";
inline constexpr char kGptqLora[] = "finetune_gtpq-lora_benchmark-v1.0.0";
inline constexpr char kLora[] = "finetune_lora_benchmark-v1.0.0";

/// A complete point of experiment `id`: the required properties, and `changes`.
inline space::Entity CompletePoint(const std::string& id, const space::Entity& changes = {}) {
  space::Entity entity = {{"model_name", std::string("smollm2-135m")},
                          {"model_max_length", int64_t{128}},
                          {"batch_size", int64_t{4}},
                          {"number_gpus", int64_t{0}}};
  for (const auto& [name, value] : changes) {
    entity[name] = value;
  }
  return BindPoint(**FindExperiment(id), entity, {}).value().complete;
}

}  // namespace assay::experiment::testing
