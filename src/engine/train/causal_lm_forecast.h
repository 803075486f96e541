// What a rank of a language model's training holds at its peak, foretold.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kernels/packed_batch.h"
#include "job/parallel_event.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// A phase of the run: init, steady or, where whole weights are gathered, save.
struct MemoryPhase {
  job::MemoryLedger ledger = {};  ///< of rank 0: its peak is that of tensors, and what is mapped when the phase ends
  int64_t tensor_bytes = 0;       ///< of rank 0 at the peak
  int64_t others_bytes = 0;       ///< likewise of every other rank
  int64_t mapped_bytes = 0;       ///< at most: weights that ranks share, in files or made once

  /// Of so many ranks on one machine.
  int64_t of_ranks(int64_t ranks) const { return tensor_bytes + (ranks - 1) * others_bytes + mapped_bytes; }
};

struct CausalLmForecast {
  std::vector<MemoryPhase> phases;
  int64_t checkpointed_layers = 0;  ///< of the steps that were gone through

  /// The phase in which rank 0 takes most.
  const job::MemoryLedger& highest() const;
  /// The phase in which so many ranks of a machine take most together.
  const MemoryPhase& highest_of(int64_t ranks) const;
};

/// Goes through two steps of `plan` on shapes (kernels/shape_memory.h), with the model, the adapters, the optimiser or
/// the sharding engine, and the updates of a run on the CPU: nothing is read but config.json and the headers of the
/// weights, nothing is computed or sent. `largest` is the largest micro-batch, on the CPU; `local_ranks` of the plan's
/// ranks share a machine. Where the plan leaves the checkpointed layers to the memory, they are as few as fit into
/// `room_bytes`. Throws StatusError.
CausalLmForecast forecast_memory(const job::TunePlan& plan, const PackedBatch& largest, int64_t local_ranks,
                                 int64_t room_bytes);

}  // namespace assay::engine
