// Weights and gradients of the parameters of one unit that have one dtype, are all trainable or all frozen, all count
// in the gradient norm or not, are all of experts that ranks divide or not, and all have gradients that the same other
// ranks add up.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "engine/shard/flat_gradients.h"
#include "engine/shard/flat_weights.h"

namespace assay::engine {

/// `elements`: what its buffers are padded to, if they have fewer.
struct FlatGroup {
  FlatWeights weights;
  std::unique_ptr<FlatGradients> gradients;  ///< null when frozen
  bool counts_in_norm;                       ///< see ParameterRef
  bool expert;                               ///< held by other ranks than the rest of the unit
  bool sums_gradient;                        ///< see ParameterRef
  bool at_both_ends;                         ///< see ParameterRef

  FlatGroup(ShardContext& context, const std::string& unit, const std::vector<ParameterRef>& parameters,
            const UnitPlacement& placement, int64_t elements)
      : weights(context, context.ranks_of(is_divided(context, parameters.front())), unit, parameters, placement,
                elements),
        counts_in_norm(parameters.front().counts_in_norm),
        expert(is_divided(context, parameters.front())),
        sums_gradient(parameters.front().sums_gradient),
        at_both_ends(parameters.front().at_both_ends) {
    if (weights.trainable()) {
      gradients = std::make_unique<FlatGradients>(context, weights.ranks(), weights.layout(),
                                                  context.policy.reduce_dtype.value_or(weights.dtype()), unit,
                                                  placement.offload_optimizer);
    }
  }

  /// Of an expert that only some ranks hold.
  static bool is_divided(const ShardContext& context, const ParameterRef& parameter) {
    return parameter.expert && context.divides_experts();
  }
};

/// Frozen, dtype, not in the norm, of divided experts, gradients added up over tensor ranks, over both ends.
using FlatKind = std::tuple<bool, at::ScalarType, bool, bool, bool, bool>;

/// What the parameters of a group have in common.
inline FlatKind flat_kind(const ShardContext& context, const ParameterRef& p) {
  return {!p.tensor->requires_grad(),        p.tensor->scalar_type(), !p.counts_in_norm,
          FlatGroup::is_divided(context, p), p.sums_gradient,         p.at_both_ends};
}

}  // namespace assay::engine
