#include "engine/optim/adamw.h"

#include <ATen/ops/zeros_like.h>

#include <map>

namespace assay::engine {

Adamw::Adamw(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options)
    : options_(options) {
  slots_.reserve(parameters.size());
  for (auto& [name, tensor] : parameters) {
    const at::Tensor plain = tensor.detach();
    slots_.push_back({{tensor, {}, at::zeros_like(plain), at::zeros_like(plain), applies_weight_decay(name)}});
  }
}

void Adamw::step(double learning_rate, double gradient_scale) {
  std::map<int64_t, std::vector<AdamwTensors>> by_step;
  for (Slot& slot : slots_) {
    if (slot.tensors.parameter.grad().defined()) {
      AdamwTensors ready = slot.tensors;
      ready.gradient = ready.parameter.grad();
      ready.parameter = ready.parameter.detach();
      by_step[++slot.steps].push_back(std::move(ready));
    }
  }
  for (const auto& [step, tensors] : by_step) {
    adamw_step(tensors, {.learning_rate = learning_rate,
                         .beta1 = options_.beta1,
                         .beta2 = options_.beta2,
                         .eps = options_.eps,
                         .weight_decay = options_.weight_decay,
                         .step = step,
                         .gradient_scale = gradient_scale});
  }
}

}  // namespace assay::engine
