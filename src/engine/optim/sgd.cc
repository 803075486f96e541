#include "engine/optim/sgd.h"

#include "engine/kernels/optimizer_step.h"

namespace assay::engine {
namespace {

std::vector<AdamwTensors> with_gradients(const std::vector<at::Tensor>& parameters) {
  std::vector<AdamwTensors> ready;
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) {
      AdamwTensors& tensors = ready.emplace_back();
      tensors.parameter = parameter.detach();
      tensors.gradient = parameter.grad();
    }
  }
  return ready;
}

}  // namespace

Sgd::Sgd(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options)
    : options_(options) {
  for (auto& [name, tensor] : parameters) {
    (applies_weight_decay(name) ? decayed_ : plain_).push_back(std::move(tensor));
  }
}

void Sgd::step(double learning_rate, double gradient_scale) {
  sgd_step(with_gradients(decayed_), learning_rate, options_.weight_decay, gradient_scale);
  sgd_step(with_gradients(plain_), learning_rate, 0.0, gradient_scale);
}

}  // namespace assay::engine
