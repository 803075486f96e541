// One fine-tune from its plan to its end.
#pragma once

#include "engine/train/event_writer.h"
#include "engine/train/termination.h"
#include "job/event.h"
#include "job/tune_plan.h"

namespace assay::engine {

/// Carries out `plan` and writes all events but the last, which is returned: how the run ended, failures included.
/// `start_seconds` is the monotonic clock at the start of main(). Throws only ControllerGone.
job::Ended run_plan(const job::TunePlan& plan, EventWriter& events, TerminationWatcher& termination,
                    double start_seconds);

}  // namespace assay::engine
