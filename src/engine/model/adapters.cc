#include "engine/model/adapters.h"

#include <string_view>

namespace assay::engine {
namespace {

std::string_view module_of(const ExpertStack& stack) {
  return std::string_view(stack.path).substr(0, stack.path.rfind('.'));
}

}  // namespace

std::vector<Adapter> adapters_of(const std::vector<Linear*>& linears, const std::vector<ExpertStack*>& stacks) {
  std::vector<Adapter> adapters;
  for (Linear* linear : linears) {
    if (linear->lora) {
      adapters.push_back({linear->path, &*linear->lora, linear->dora ? &*linear->dora : nullptr});
    }
  }
  for (auto it = stacks.begin(); it != stacks.end(); ++it) {
    if ((*it)->lora) {
      std::string path(module_of(**it));
      for (auto around = it + 1; around != stacks.end() && module_of(**around) == module_of(**it); ++around) {
        path += (*around)->lora ? ".base_layer" : "";
      }
      adapters.push_back({path, &*(*it)->lora});
    }
  }
  return adapters;
}

}  // namespace assay::engine
