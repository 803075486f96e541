// adapter_config.json of peft: read, checked for what is supported, and written.
#pragma once

#include <string>
#include <string_view>

#include "engine/adapter/lora.h"

namespace assay::engine {

/// The LoRA settings of `text`; `source` names it in messages. Throws StatusError for another peft_type and for every
/// option that would change the computation and is not supported (rank patterns, trained biases, ...).
LoraConfig parse_adapter_config(std::string_view text, const std::string& source);

/// The text of an adapter_config.json that peft reads. `base_model` is where the base model came from.
std::string adapter_config_text(const LoraConfig& config, const std::string& base_model);

}  // namespace assay::engine
