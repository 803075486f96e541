// One rank of a checkpoint benchmark from its plan to its end.
#pragma once

#include "engine/train/event_writer.h"
#include "engine/train/termination.h"
#include "job/checkpoint_plan.h"
#include "job/event.h"

namespace assay::engine {

/// As run_plan(): writes `started`, of a model that trains a `step` each, and a `checkpoint_transfer` of each save or
/// load that counts.
job::Ended run_checkpoint_plan(const job::CheckpointPlan& plan, EventWriter& events, TerminationWatcher& termination);

}  // namespace assay::engine
