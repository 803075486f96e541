#include "engine/checkpoint/snapshot.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>

namespace assay::engine {
namespace {

constexpr std::array kTensors = {&HeldState::weight, &HeldState::first_moment, &HeldState::second_moment};

}  // namespace

std::vector<int64_t> snapshot_bytes(const std::vector<HeldState>& held, int64_t ranks) {
  std::vector<int64_t> planned(static_cast<size_t>(ranks), 0);
  std::vector<int64_t> copied(static_cast<size_t>(ranks), 0);
  for (const HeldState& state : held) {
    for (const auto member : kTensors) {
      const at::Tensor& tensor = state.*member;
      if (!state.is_written_here || !tensor.defined()) {
        continue;
      }
      std::set<size_t> writers;  // of its boxes, for which each copies all of it
      for (const checkpoint::Box& box : state.boxes()) {
        const auto writer = static_cast<size_t>(std::ranges::min_element(planned) - planned.begin());
        planned[writer] += checkpoint::Count(box.sizes) * static_cast<int64_t>(tensor.element_size());
        writers.insert(writer);
      }
      for (const size_t writer : writers) {
        copied[writer] += static_cast<int64_t>(tensor.nbytes());
      }
    }
  }
  return copied;
}

at::Tensor Snapshot::copy(size_t place, const at::Tensor& tensor) {
  at::Tensor& memory = memory_[place];
  if (!memory.defined() || memory.numel() != tensor.numel() || memory.scalar_type() != tensor.scalar_type()) {
    memory = at::empty({tensor.numel()}, at::TensorOptions().dtype(tensor.scalar_type()));
  }
  return memory.copy_(tensor);
}

std::vector<HeldState> Snapshot::take(const std::vector<HeldState>& held, const std::set<const at::Tensor*>& wanted) {
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
