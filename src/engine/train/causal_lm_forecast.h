// What a rank of a language model's training holds at its peak, foretold.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/kernels/packed_batch.h"
#include "job/parallel_event.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// Of rank 0, which has as much as any other, and more where it saves for all.
struct CausalLmForecast {
  std::vector<job::MemoryLedger> ledgers;  ///< predicted: init, steady and, where whole weights are gathered, save
  int64_t mapped_bytes = 0;                ///< of each peak: files whose weights are used where they lie

  /// The phase that takes most.
  const job::MemoryLedger& highest() const;
};

/// Goes through two steps of `plan` on shapes (kernels/shape_memory.h), with the model, the adapters, the optimiser or
/// the sharding engine, and the updates of a run on the CPU: nothing is read but config.json and the headers of the
/// weights, nothing is computed or sent. `largest` is the largest micro-batch, on the CPU; `local_ranks` of the plan's
/// ranks share a machine. Where the plan leaves the checkpointed layers to the memory, they are as few as fit into
/// `room_bytes`. Throws StatusError.
CausalLmForecast forecast_memory(const job::TunePlan& plan, const PackedBatch& largest, int64_t local_ranks,
                                 int64_t room_bytes);

}  // namespace assay::engine
