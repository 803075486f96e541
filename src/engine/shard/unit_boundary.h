// Where backward enters and leaves a unit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace assay::engine {

/// Told by autograd, on the thread that runs backward.
class UnitEvents {
 public:
  virtual ~UnitEvents() = default;
  /// The gradient of the unit's output is there; nothing of its backward has run yet.
  virtual void backward_enters(int64_t unit) = 0;
  /// The gradient of the unit's input is there: its backward is done.
  virtual void backward_leaves(int64_t unit) = 0;
  virtual void gradient_ready(int64_t unit, size_t group, size_t parameter, const at::Tensor& gradient) = 0;
};

enum class UnitEdge { kInput, kOutput };

/// `tensor` as it is, with a node of autograd before it that tells `events` when backward passes. Nothing is added
/// where no graph is recorded. `events` must outlive the graph's backward.
at::Tensor mark_boundary(const at::Tensor& tensor, UnitEvents& events, int64_t unit, UnitEdge edge);

/// Hands each gradient of `leaf` to `events` instead of keeping it in leaf.grad().
void watch_gradient(const at::Tensor& leaf, UnitEvents& events, int64_t unit, size_t group, size_t parameter);
void unwatch_gradient(const at::Tensor& leaf);

}  // namespace assay::engine
