// The run that a point's losses and gradient norms are held against, made once and kept.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "job/run_record.h"

namespace assay::explore {

using RunPlanFunction = std::function<Result<job::RunRecord>(const job::Plan&)>;

/// The steps of `reference`: from its file, if it was made where `made_by` (machine, commit, libtorch, settings in one
/// text) was the same, else from a run, which is then kept there (a file that cannot be written is only made again).
/// kAborted when the run was interrupted; any other end of it is an error that says that it was the reference that
/// failed.
Result<std::vector<experiment::ReferenceStep>> ReferenceSteps(const experiment::ReferenceRun& reference,
                                                              const std::string& made_by, const RunPlanFunction& run);

}  // namespace assay::explore
