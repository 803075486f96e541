#include "engine/optim/sgd.h"

namespace assay::engine {

Sgd::Sgd(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options)
    : options_(options) {
  for (auto& [name, tensor] : parameters) {
    AdamwTensors& slot = slots_.emplace_back();
    slot.parameter = std::move(tensor);
    slot.decay = applies_weight_decay(name);
    names_.push_back(std::move(name));
  }
}

void Sgd::step(double learning_rate, const GradientRule& rule) {
  std::vector<AdamwTensors> ready;
  for (const AdamwTensors& slot : slots_) {
    if (slot.parameter.grad().defined()) {
      AdamwTensors& tensors = ready.emplace_back(slot);
      tensors.gradient = slot.parameter.grad();
      tensors.parameter = slot.parameter.detach();
    }
  }
  sgd_step(ready, learning_rate, options_.weight_decay, rule);
}

std::vector<ParameterState> Sgd::states() {
  std::vector<ParameterState> states;
  for (size_t i = 0; i < slots_.size(); ++i) {
    states.push_back({.name = names_[i], .weight = slots_[i].parameter.detach()});
  }
  return states;
}

}  // namespace assay::engine
