// What a plan's method puts on a model: nothing, LoRA or a prompt.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "engine/adapter/lora.h"
#include "engine/adapter/prompt_tuning.h"

namespace assay::engine {

/// std::monostate: the model itself is trained.
using AdapterConfig = std::variant<std::monostate, LoraConfig, PromptConfig>;

inline bool has_adapter(const AdapterConfig& adapter) {
  return !std::holds_alternative<std::monostate>(adapter);
}

/// Puts on what plan.method asks for, by plan.seed, and freezes the model where that is an adapter. As apply_lora() and
/// apply_prompt().
AdapterConfig apply_adapter(CausalLM& model, const job::TunePlan& plan, const TensorPlace& place = {});

/// Writes its weights as peft's folder; there must be an adapter. As save_lora() and save_prompt().
void save_adapter(const CausalLM& model, const AdapterConfig& adapter, const std::vector<NamedTensor>& weights,
                  const std::string& output_dir);

}  // namespace assay::engine
