#include "engine/adapter/adapter.h"

namespace assay::engine {

AdapterConfig apply_adapter(CausalLM& model, const job::TunePlan& plan, const TensorPlace& place) {
  if (plan.method == "lora") {
    return apply_lora(model, plan.lora, plan.seed, place);
  }
  if (plan.method == "prompt") {
    return apply_prompt(model, plan.prompt, plan.tokenizer, plan.seed);
  }
  return std::monostate();
}

void save_adapter(const CausalLM& model, const AdapterConfig& adapter, const std::vector<NamedTensor>& weights,
                  const std::string& output_dir) {
  if (const auto* lora = std::get_if<LoraConfig>(&adapter)) {
    save_lora(model, *lora, weights, output_dir);
  } else {
    save_prompt(model, std::get<PromptConfig>(adapter), weights, output_dir);
  }
}

}  // namespace assay::engine
