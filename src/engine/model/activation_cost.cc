#include "engine/model/activation_cost.h"

#include <numeric>

namespace assay::engine {

int64_t ActivationCost::kept_bytes(int64_t checkpointed_layers) const {
  return std::accumulate(layer_bytes.begin() + checkpointed_layers, layer_bytes.end(),
                         checkpointed_layers * checkpointed_layer_bytes);
}

ActivationCost ActivationCost::in_flight(int64_t micro_batches) const {
  ActivationCost cost = *this;
  for (int64_t& bytes : cost.layer_bytes) {
    bytes *= micro_batches;
  }
  cost.checkpointed_layer_bytes *= micro_batches;
  return cost;
}

}  // namespace assay::engine
