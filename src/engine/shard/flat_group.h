// Weights and gradients of the parameters of one unit that have one dtype and are all trainable or all frozen.
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

  FlatGroup(ShardContext& context, const std::string& unit, const std::vector<ParameterRef>& parameters,
            const UnitPlacement& placement)
      : weights(context, unit, parameters, placement) {
    if (weights.trainable()) {
      gradients = std::make_unique<FlatGradients>(context, weights.layout(),
                                                  context.policy.reduce_dtype.value_or(weights.dtype()), unit,
                                                  placement.offload_optimizer);
    }
  }
};

}  // namespace assay::engine
