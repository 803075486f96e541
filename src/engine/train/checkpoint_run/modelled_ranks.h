// Ranks without data: what a save or a load of them would take of a store.
#pragma once

#include "engine/train/event_writer.h"
#include "job/checkpoint_plan.h"

namespace assay::engine {

/// Writes a `checkpoint_transfer` of each modelled rank of `plan`, and a `checkpoint_model`. Throws StatusError.
void write_modelled_ranks(const job::CheckpointPlan& plan, EventWriter& events);

}  // namespace assay::engine
