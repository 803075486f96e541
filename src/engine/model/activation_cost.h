// What the activations of a micro-batch take of memory, as far as a model tells it of itself.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::engine {

/// Bytes of tensors that a micro-batch needs beside parameters, their gradients and the optimiser.
struct ActivationCost {
  /// What each layer that keeps anything, from the first one with something to train, keeps from forward to backward.
  std::vector<int64_t> layer_bytes;
  int64_t checkpointed_layer_bytes = 0;  ///< the most that one of them keeps when it is checkpointed
  int64_t working_bytes = 0;             ///< the most that one layer holds beside that while it runs
  int64_t loss_bytes = 0;                ///< the most that head and loss hold

  int64_t layers() const { return static_cast<int64_t>(layer_bytes.size()); }
  /// What the layers keep with the first `checkpointed_layers` of them checkpointed.
  int64_t kept_bytes(int64_t checkpointed_layers) const;
  /// With what layers keep of so many micro-batches at once.
  ActivationCost in_flight(int64_t micro_batches) const;
};

}  // namespace assay::engine
