// What a linear layer keeps of its input for backward. Private to engine/kernels.
#pragma once

#include "engine/kernels/autograd_support.h"
#include "engine/kernels/frozen_weight.h"
#include "engine/kernels/recompute.h"

namespace assay::engine {

inline constexpr char kRecomputeKey[] = "recompute";

/// The tensor to save: `x`, or none when backward does not want it or makes it again.
inline at::Tensor keep_input(AutogradContext* ctx, const at::Tensor& x, const RecomputePtr& again, bool wanted) {
  if (!wanted || !again) {
    return wanted ? x : at::Tensor();
  }
  again->add_user();
  ctx->saved_data[kRecomputeKey] = c10::IValue::make_capsule(again);
  return {};
}

/// What keep_input() was given, in backward; call it once.
inline at::Tensor kept_input(const AutogradContext* ctx, const at::Tensor& saved) {
  const auto again = ctx->saved_data.find(kRecomputeKey);
  if (again == ctx->saved_data.end()) {
    return saved;
  }
  return c10::static_intrusive_pointer_cast<Recompute>(again->second.toCapsule())->take();
}

inline constexpr char kFrozenKey[] = "frozen_weight";

/// Leaves the frozen weight (null: none) for backward.
inline void keep_frozen(AutogradContext* ctx, const FrozenWeightPtr& frozen) {
  if (frozen) {
    ctx->saved_data[kFrozenKey] = c10::IValue::make_capsule(frozen);
  }
}

/// What keep_frozen() was given.
inline FrozenWeightPtr kept_frozen(const AutogradContext* ctx) {
  const auto frozen = ctx->saved_data.find(kFrozenKey);
  return frozen == ctx->saved_data.end() ? FrozenWeightPtr()
                                         : c10::static_intrusive_pointer_cast<FrozenWeight>(frozen->second.toCapsule());
}

}  // namespace assay::engine
