#include "engine/checkpoint/snapshot.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <array>

namespace assay::engine {

at::Tensor Snapshot::copy(size_t place, const at::Tensor& tensor) {
  at::Tensor& memory = memory_[place];
  if (!memory.defined() || memory.numel() != tensor.numel() || memory.scalar_type() != tensor.scalar_type()) {
    memory = at::empty({tensor.numel()}, at::TensorOptions().dtype(tensor.scalar_type()));
  }
  return memory.copy_(tensor);
}

std::vector<HeldState> Snapshot::take(const std::vector<HeldState>& held, const std::set<const at::Tensor*>& wanted) {
  constexpr std::array kTensors = {&HeldState::weight, &HeldState::first_moment, &HeldState::second_moment};
  const at::NoGradGuard no_grad;
  memory_.resize(kTensors.size() * held.size());
  steps_.assign(held.size(), 0);
  std::vector<HeldState> copies = held;
  size_t place = 0;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i].steps != nullptr) {
      steps_[i] = *held[i].steps;
      copies[i].steps = &steps_[i];
    }
    for (const auto tensor : kTensors) {
      if (wanted.contains(&(held[i].*tensor))) {
        copies[i].*tensor = copy(place, held[i].*tensor);
      }
      ++place;
    }
  }
  return copies;
}

}  // namespace assay::engine
