// Where the programs of a run are on this machine.
#pragma once

#include <string>

#include "base/status.h"
#include "job/plan.h"

namespace assay::launch {

/// $ASSAY_WORKER, else `assay-worker` beside our own program. An error says what to do when it is not there.
Result<std::string> FindWorker();
/// What carries out `plan`: the program that it names, else FindWorker().
Result<std::string> FindProgram(const job::Plan& plan);
/// `assay-agent` beside our own program.
Result<std::string> FindAgent();

}  // namespace assay::launch
