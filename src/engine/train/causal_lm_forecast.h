// What a rank of a language model's training holds at its peak, foretold.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/kernels/packed_batch.h"
#include "job/parallel_event.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// A phase of the run: init, steady, where a copy is written at its end alone checkpoint, and where whole weights are
/// gathered save.
struct MemoryPhase {
  job::MemoryLedger ledger = {};  ///< of the rank with most: the peak of its tensors, and what it has mapped at the end
  int64_t tensor_bytes = 0;       ///< of all ranks of a machine, each at its peak
  int64_t mapped_bytes = 0;       ///< at most: weights that they share, in files or made once for each group of ranks
  int64_t copy_bytes = 0;         ///< of the ledger's peak, what checkpoints are written from beside the training

  int64_t machine_bytes() const { return tensor_bytes + mapped_bytes; }
};

struct CausalLmForecast {
  std::vector<MemoryPhase> phases;

  /// The phase in which a rank takes most.
  const MemoryPhase& highest() const;
  /// The phase in which the ranks of a machine take most together.
  const MemoryPhase& highest_of_machine() const;
};

/// What a plan does not say of its run.
struct RunExtent {
  int64_t local_ranks = 1;  ///< in a row, that were started on one machine
  int64_t groups = 1;       ///< of so many ranks that share the machine (groups_on_machine())
};

/// Foretells runs of one plan with one or another number of checkpointed layers.
class CausalLmForecaster {
 public:
  /// `largest` is the largest micro-batch, on the CPU. The plan must outlive this.
  CausalLmForecaster(const job::TunePlan& plan, PackedBatch largest, const RunExtent& extent);

  /// Goes through two steps on shapes (kernels/shape_memory.h), with the model, the adapters, the optimiser or the
  /// sharding engine, and the updates of a run on the CPU: nothing is read but config.json and the headers of the
  /// weights, nothing is computed or sent. Throws StatusError.
  const CausalLmForecast& with_checkpointed(int64_t layers);

  /// The fewest checkpointed layers with whose steps `fits` is content; all where it is with none.
  int64_t fewest_checkpointed(const std::function<bool(const MemoryPhase& steady)>& fits);

 private:
  CausalLmForecast foretell(int64_t layers) const;

  const job::TunePlan& plan_;
  PackedBatch largest_;
  RunExtent extent_;
  std::map<int64_t, CausalLmForecast> forecasts_;  ///< by checkpointed layers
};

}  // namespace assay::engine
