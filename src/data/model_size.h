// How large a model is, by its config.json alone.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/status.h"
#include "data/model_catalogue.h"

namespace assay::data {

/// Parameters of a decoder as the Llama, Mistral and Granite families build it (transformers, modeling_llama.py); 0
/// where the config lacks what decides it.
int64_t CountDecoderParameters(const nlohmann::json& config);

/// OutOfMemory where a training cannot fit `memory_bytes` whatever its batch: random weights are made in memory, and
/// full training keeps a gradient and two float32 moments of each parameter. A model of unknown size passes.
Status CheckTrainingFits(const ModelRef& model, bool full, std::string_view dtype, int64_t memory_bytes);

}  // namespace assay::data
