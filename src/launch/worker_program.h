// Where the programs of a run are on this machine.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "job/plan.h"
#include "launch/launcher.h"

namespace assay::launch {

/// $ASSAY_WORKER, else `assay-worker` beside our own program. An error says what to do when it is not there.
Result<std::string> FindWorker();
/// What carries out `plan`: the program that it names, else FindWorker().
Result<std::string> FindProgram(const job::Plan& plan);
/// `assay-agent` beside our own program.
Result<std::string> FindAgent();
/// The environment of a run whose machines do not have ours: our own ASSAY_ variables, and what `options` says.
std::map<std::string, std::string> VariablesElsewhere(const LaunchOptions& options);

}  // namespace assay::launch
