// Weights and gradients of the parameters of one unit that have one dtype, are all trainable or all frozen, and all
// count in the gradient norm or not.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/shard/flat_gradients.h"
#include "engine/shard/flat_weights.h"

namespace assay::engine {

struct FlatGroup {
  FlatWeights weights;
  std::unique_ptr<FlatGradients> gradients;  ///< null when frozen
  bool counts_in_norm;                       ///< see ParameterRef

  FlatGroup(ShardContext& context, const std::string& unit, const std::vector<ParameterRef>& parameters,
            const UnitPlacement& placement)
      : weights(context, unit, parameters, placement), counts_in_norm(parameters.front().counts_in_norm) {
    if (weights.trainable()) {
      gradients = std::make_unique<FlatGradients>(context, weights.layout(),
                                                  context.policy.reduce_dtype.value_or(weights.dtype()), unit,
                                                  placement.offload_optimizer);
    }
  }
};

}  // namespace assay::engine
