#include "engine/optim/adamw.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <map>

namespace assay::engine {
namespace {

/// Memory for a state of each tensor, as views of one flat tensor. It is not cleared: the first update writes states
/// without reading them, and clearing a model's worth of fresh memory takes as long as many updates. In blocks of their
/// own the allocator would write to the begin of each, and with huge pages that clears nearly all of it.
std::vector<at::Tensor> fresh_states(const std::vector<at::Tensor>& like) {
  constexpr int64_t kAlignment = 64;
  const auto bytes_of = [](const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); };
  int64_t total = 0;
  for (const at::Tensor& tensor : like) {
    total += (bytes_of(tensor) + kAlignment - 1) / kAlignment * kAlignment;
  }
  std::vector<at::Tensor> states;
  at::Tensor rest = like.empty() ? at::Tensor() : at::empty({total}, like.front().options().dtype(at::kByte));
  for (const at::Tensor& tensor : like) {
    const int64_t bytes = bytes_of(tensor);
    states.push_back(rest.narrow(0, 0, bytes).view(tensor.scalar_type()).view(tensor.sizes()));
    const int64_t used = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    rest = rest.narrow(0, used, rest.numel() - used);
  }
  return states;
}

/// What an update works on: the parameter itself, or its float32 master.
at::Tensor updated_tensor(const at::Tensor& parameter) {
  return parameter.scalar_type() == at::kHalf ? parameter.to(at::kFloat) : parameter;
}

}  // namespace

AdamwScalars adamw_scalars(const OptimizerOptions& options, double learning_rate, int64_t step) {
  return {.learning_rate = learning_rate,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .eps = options.eps,
          .weight_decay = options.weight_decay,
          .step = step};
}

Adamw::Adamw(std::vector<std::pair<std::string, at::Tensor>> parameters, const OptimizerOptions& options)
    : options_(options) {
  std::vector<at::Tensor> updated;
  for (const auto& [name, tensor] : parameters) {
    updated.push_back(updated_tensor(tensor.detach()));
  }
  const std::vector<at::Tensor> first = fresh_states(updated);
  const std::vector<at::Tensor> second = fresh_states(updated);
  slots_.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, tensor] = parameters[i];
    const bool has_master = tensor.scalar_type() == at::kHalf;
    slots_.push_back({.name = name,
                      .parameter = tensor,
                      .update = {.parameter = updated[i],
                                 .gradient = {},
                                 .first_moment = first[i],
                                 .second_moment = second[i],
                                 .decay = applies_weight_decay(name),
                                 .copy = has_master ? tensor.detach() : at::Tensor()}});
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
    adamw_step(tensors, adamw_scalars(options_, learning_rate, step), rule);
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

std::vector<ParameterState> Adamw::states() {
  std::vector<ParameterState> states;
  for (Slot& slot : slots_) {
    states.push_back({.name = slot.name,
                      .weight = slot.update.parameter,
                      .moments = {{kFirstMoment, slot.update.first_moment}, {kSecondMoment, slot.update.second_moment}},
                      .steps = &slot.steps});
  }
  return states;
}

void Adamw::publish_masters() {
  const at::NoGradGuard no_grad;
  for (const Slot& slot : slots_) {
    if (slot.update.copy.defined()) {
      slot.update.copy.copy_(slot.update.parameter);
    }
  }
}

}  // namespace assay::engine
