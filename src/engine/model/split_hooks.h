// How products of one layer are split over ranks from outside: the model says where the parts begin and end.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

#include "engine/kernels/ops.h"
#include "engine/model/recomputable.h"
#include "engine/model/tensor_split.h"
#include "engine/model/unit.h"

namespace assay::engine {

/// Called by a model around each block (attention, MLP) whose first products may make part of the features only, and
/// whose last product then sums over that part. A model with whole weights computes the same without them.
class SplitHooks {
 public:
  virtual ~SplitHooks() = default;
  /// What the first products read: `input` as it is. Its gradient is the sum of what all parts give.
  virtual at::Tensor enter_parts(const at::Tensor& input, std::string_view label) = 0;
  /// The sum over all parts of what the last product made of each. `output` kUnset: its numbers do not count.
  virtual at::Tensor sum_parts(const at::Tensor& part, Output output, std::string_view label) = 0;
};

/// A model whose layers may have parts of their features.
class Splittable : public Shardable {
 public:
  /// Which of its parameters have parts.
  virtual SplitRules split_rules() const = 0;
  /// `hooks` must outlive the model's use; nullptr takes them off.
  virtual void set_split_hooks(SplitHooks* hooks) = 0;
};

/// The hooks of a model, or none, as its layers call them.
class SplitProducts {
 public:
  void set(SplitHooks* hooks) { hooks_ = hooks; }

  at::Tensor enter(const at::Tensor& input, std::string_view label) const {
    return hooks_ == nullptr ? input : hooks_->enter_parts(input, label);
  }
  Recomputable enter(const Recomputable& input, std::string_view label) const {
    return {enter(input.value, label), input.again};
  }
  at::Tensor sum(const at::Tensor& part, std::string_view label, Output output = Output::kComputed) const {
    return hooks_ == nullptr ? part : hooks_->sum_parts(part, output, label);
  }

 private:
  SplitHooks* hooks_ = nullptr;
};

}  // namespace assay::engine
