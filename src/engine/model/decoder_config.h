// The keys of config.json that Llama, Mistral and Granite have.
#pragma once

#include "engine/model/config.h"
#include "engine/model/config_reader.h"

namespace assay::engine {

/// Each fills `config` from the keys of its family, with the defaults that transformers gives to absent ones, and
/// throws StatusError for a missing key, a value that makes no sense or a setting that is not supported.
void read_llama_config(const ConfigReader& keys, ModelConfig& config);
void read_mistral_config(const ConfigReader& keys, ModelConfig& config);
void read_granite_config(const ConfigReader& keys, ModelConfig& config);

/// Rotary settings in either spelling; see RopeConfig. `max_positions` is the model's own maximum length.
RopeConfig read_rope_config(const ConfigReader& keys, int64_t max_positions);

}  // namespace assay::engine
