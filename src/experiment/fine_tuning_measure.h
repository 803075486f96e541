// From the events and samples of a fine-tuning run to its target properties.
#pragma once

#include "experiment/experiment.h"

namespace assay::experiment {

/// `record` ended as done; `plan` is what the worker carried out. kFailedPrecondition when a loss is not finite: the
/// point is invalid.
Result<Measured> MeasureFineTuning(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record);

}  // namespace assay::experiment
