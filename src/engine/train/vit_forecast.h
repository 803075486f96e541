// What a rank of a ViT training holds at its peak, foretold.
#pragma once

#include <vector>

#include "engine/model/vit.h"
#include "job/parallel_event.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// What `model`, which may be a part, keeps of the micro-batches that it holds at once; working and loss bytes are one
/// micro-batch's.
ActivationCost activation_cost_in_flight(const job::VitPlan& plan, const Vit& model);

/// The same with `checkpointed_layers` layers checkpointed.
struct ActivationNeed {
  int64_t kept_bytes = 0;     ///< from forward to backward
  int64_t working_bytes = 0;  ///< beside that, while one layer runs
};
ActivationNeed activation_need(const job::VitPlan& plan, const Vit& model, int64_t checkpointed_layers);

/// The peaks of initialisation and of a steady step, of rank 0 or, with pipeline stages, of the rank whose steady peak
/// is highest, without computing or sending anything: the sharding
/// engine goes through its steps on parameters that have a shape alone, in a group that moves nothing; activations are
/// those that the model says it keeps. `local_ranks` of the plan's ranks share a machine. Throws StatusError.
std::vector<job::MemoryLedger> forecast_memory(const job::VitPlan& plan, int64_t local_ranks, bool on_cpu);

}  // namespace assay::engine
