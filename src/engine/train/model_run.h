// The runs of plans that take a model for something else than training (job/model_plans.h).
#pragma once

#include "engine/train/event_writer.h"
#include "engine/train/termination.h"
#include "job/event.h"
#include "job/model_plans.h"

namespace assay::engine {

/// As run_plan(), both.
job::Ended run_generate_plan(const job::GeneratePlan& plan, EventWriter& events);
job::Ended run_merge_plan(const job::MergePlan& plan, EventWriter& events, TerminationWatcher& termination);

}  // namespace assay::engine
