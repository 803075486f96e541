// One rank of a training from its plan to its end.
#pragma once

#include <memory>

#include "engine/train/event_writer.h"
#include "engine/train/termination.h"
#include "job/event.h"
#include "job/plan.h"
#include "storage/transfer/observer.h"

namespace assay::engine {

/// Carries out this rank's part of `plan` and writes all its events but the last, which is returned: how the rank
/// ended, failures included. Which rank it is stands in its environment. `start_seconds` is the monotonic clock at the
/// start of main(). `observer` sees the requests of a training's checkpoints, where it is not null. Throws only
/// ControllerGone.
job::Ended run_plan(const job::Plan& plan, EventWriter& events, TerminationWatcher& termination, double start_seconds,
                    std::shared_ptr<storage::RequestObserver> observer = nullptr);

}  // namespace assay::engine
