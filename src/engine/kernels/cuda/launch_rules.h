// How many elements a thread handles at once, decided by the shapes and addresses of a task.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "engine/kernels/cuda/cuda_kernels.h"

namespace assay::engine::cuda {

/// Bytes that a thread loads at once: the widest load there is.
constexpr int64_t kLoadBytes = 16;

template <typename T>
constexpr int kLanesOf = static_cast<int>(kLoadBytes / sizeof(T));

/// Whether all of these (null counts as such) may be loaded `bytes` at a time.
inline bool aligned(std::initializer_list<const void*> pointers, int64_t bytes = kLoadBytes) {
  return std::all_of(pointers.begin(), pointers.end(), [&](const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(bytes) == 0;
  });
}

/// in_packs<T>(task): whether packs of kLanesOf<T> elements may be used; else elements are handled one by one.
template <typename T>
bool in_packs(const NormForward& task) {
  return task.width % kLanesOf<T> == 0 && aligned({task.x, task.block, task.weight, task.sum, task.y});
}

template <typename T>
bool in_packs(const NormBackward& task) {
  return task.width % kLanesOf<T> == 0 &&
         aligned({task.grad_y, task.extra, task.x, task.weight, task.grad_x, task.grad_block});
}

/// T: block and result; R: the residual stream. The parameters are float32.
template <typename T, typename R>
bool in_packs(const LayerNormForward& task) {
  constexpr int64_t kResidualBytes = kLanesOf<T> * static_cast<int64_t>(sizeof(R));
  constexpr int64_t kFloatBytes = kLanesOf<T> * static_cast<int64_t>(sizeof(float));
  return task.width % kLanesOf<T> == 0 && aligned({task.block, task.y}) &&
         aligned({task.x, task.sum}, kResidualBytes) && aligned({task.weight, task.bias}, kFloatBytes);
}

template <typename T, typename R>
bool in_packs(const LayerNormBackward& task) {
  constexpr int64_t kResidualBytes = kLanesOf<T> * static_cast<int64_t>(sizeof(R));
  constexpr int64_t kFloatBytes = kLanesOf<T> * static_cast<int64_t>(sizeof(float));
  return task.width % kLanesOf<T> == 0 && aligned({task.grad_y, task.grad_block}) &&
         aligned({task.extra, task.x, task.grad_x}, kResidualBytes) && aligned({task.weight}, kFloatBytes);
}

template <typename T>
bool in_packs(const GeluForward& task) {
  return aligned({task.x, task.y});
}

template <typename T>
bool in_packs(const GeluBackward& task) {
  return aligned({task.grad_y, task.x, task.grad_x});
}

template <typename T>
bool in_packs(const SwigluForward& task) {
  return aligned({task.gate, task.up, task.y});
}

template <typename T>
bool in_packs(const SwigluBackward& task) {
  return aligned({task.grad_y, task.gate, task.up, task.grad_gate, task.grad_up});
}

template <typename T>
bool in_packs(const AddScaled& task) {
  return aligned({task.a, task.b, task.out});
}

template <typename T>
bool in_packs(const AddMasked& task) {
  constexpr int64_t kUpdateBytes = kLanesOf<T> * static_cast<int64_t>(sizeof(float));
  return aligned({task.y}) && aligned({task.update}, kUpdateBytes) && aligned({task.mask}, kLanesOf<T>);
}

template <typename T>
bool in_packs(const Rotate& task) {
  return task.half % kLanesOf<T> == 0 && aligned({task.x, task.out});
}

/// The types of an update, and how many elements a thread handles at once: as many of the shortest as one load takes.
template <typename ParameterType, typename GradientType, typename StateType, typename CopyType>
struct UpdateTypes {
  using Parameter = ParameterType;
  using Gradient = GradientType;
  using State = StateType;
  using Copy = CopyType;
  static constexpr int kLanes = kLanesOf<Copy> > kLanesOf<Parameter> ? kLanesOf<Copy> : kLanesOf<Parameter>;
};

/// Calls body(UpdateTypes<...>{}) for an update with adamw whose narrow dtype is T.
template <typename T, typename Body>
void with_update_types(const AdamwDtypes& dtypes, const Body& body) {
  if (dtypes.parameter == dtypes.copy && dtypes.gradient != dtypes.copy) {
    body(UpdateTypes<T, float, T, T>{});
  } else if (dtypes.parameter == dtypes.copy) {
    dtypes.states == dtypes.copy ? body(UpdateTypes<T, T, T, T>{}) : body(UpdateTypes<T, T, float, T>{});
  } else {
    dtypes.gradient == dtypes.copy ? body(UpdateTypes<float, T, float, T>{})
                                   : body(UpdateTypes<float, float, float, T>{});
  }
}

template <typename Types>
bool in_packs(const TensorList& list) {
  const auto fits = [](const void* data, size_t size) {
    return aligned({data}, Types::kLanes * static_cast<int64_t>(size));
  };
  return std::all_of(list.tensors, list.tensors + list.size, [&](const UpdateTensor& t) {
    return fits(t.parameter, sizeof(typename Types::Parameter)) && fits(t.gradient, sizeof(typename Types::Gradient)) &&
           fits(t.first_moment, sizeof(typename Types::State)) &&
           fits(t.second_moment, sizeof(typename Types::State)) && fits(t.copy, sizeof(typename Types::Copy));
  });
}

}  // namespace assay::engine::cuda
