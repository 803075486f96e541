#include "engine/optim/adamw.h"

#include <ATen/ops/empty_like.h>

#include <map>

namespace assay::engine {
namespace {

/// The states are not cleared: the first update writes them without reading, and clearing a model's worth of fresh
/// memory takes as long as many updates.
AdamwTensors make_states(const at::Tensor& parameter, bool decay) {
  const bool wide = parameter.scalar_type() == at::kHalf;
  AdamwTensors t{.parameter = wide ? parameter.to(at::kFloat) : parameter, .decay = decay};
  t.first_moment = at::empty_like(t.parameter);
  t.second_moment = at::empty_like(t.parameter);
  if (wide) {
    t.copy = parameter;
  }
  return t;
}

}  // namespace

Adamw::Adamw(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options)
    : options_(options) {
  slots_.reserve(parameters.size());
  for (auto& [name, tensor] : parameters) {
    slots_.push_back({tensor, make_states(tensor.detach(), applies_weight_decay(name))});
  }
}

void Adamw::step(double learning_rate, const GradientRule& rule) {
  std::map<int64_t, std::vector<AdamwTensors>> by_step;
  for (Slot& slot : slots_) {
    slot.in_last_step = slot.parameter.grad().defined();
    if (slot.in_last_step) {
      AdamwTensors ready = slot.update;
      ready.gradient = slot.parameter.grad();
      by_step[++slot.steps].push_back(std::move(ready));
    }
  }
  for (const auto& [step, tensors] : by_step) {
    adamw_step(tensors,
               {.learning_rate = learning_rate,
                .beta1 = options_.beta1,
                .beta2 = options_.beta2,
                .eps = options_.eps,
                .weight_decay = options_.weight_decay,
                .step = step},
               rule);
  }
}

void Adamw::forget_last_step() {
  for (Slot& slot : slots_) {
    slot.steps -= slot.in_last_step ? 1 : 0;
    slot.in_last_step = false;
  }
}

int64_t Adamw::untouched_bytes() const {
  int64_t bytes = 0;
  for (const Slot& slot : slots_) {
    bytes += slot.steps == 0 ? 2 * static_cast<int64_t>(slot.update.first_moment.nbytes()) : 0;
  }
  return bytes;
}

}  // namespace assay::engine
