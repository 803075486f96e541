// A connector test from its plan to its end, with our own converter, streams and trainer.
#pragma once

#include "engine/train/event_writer.h"
#include "engine/train/termination.h"
#include "job/connector_plan.h"
#include "job/event.h"

namespace assay::engine {

/// As run_plan(). The connector is assay, or assay-copy, which fetches the whole data set before it reads it. A plan
/// with a step is that step alone.
job::Ended run_connector_plan(const job::ConnectorPlan& plan, EventWriter& events, TerminationWatcher& termination);

}  // namespace assay::engine
