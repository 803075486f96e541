#include "engine/adapter/trainable.h"

#include "engine/adapter/lora.h"

namespace assay::engine {

void freeze_base(const CausalLM& model) {
  for (auto& [name, parameter] : model.parameters()) {
    parameter.requires_grad_(false);
  }
}

std::vector<NamedTensor> trainable_parameters(CausalLM& model) {
  std::vector<NamedTensor> trainable;
  for (const auto& [name, parameter] : model.parameters()) {
    if (parameter.requires_grad()) {
      trainable.emplace_back(name, parameter);
    }
  }
  const std::vector<NamedTensor> adapters = lora_parameters(model);
  trainable.insert(trainable.end(), adapters.begin(), adapters.end());
  if (model.prompt_PH().defined()) {
    trainable.emplace_back(kPromptName, model.prompt_PH());
  }
  return trainable;
}

}  // namespace assay::engine
