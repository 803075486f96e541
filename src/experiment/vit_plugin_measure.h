// From the events of all ranks of a ViT run to its target properties.
#pragma once

#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

/// `record` ended as done. kFailedPrecondition when the losses do not follow the reference's: the point is invalid.
Result<Measured> MeasureVitPlugin(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record);

/// What losses in `precision` may differ from those in fp32 on every rank, relatively.
double GateTolerance(const std::string& precision);

}  // namespace assay::experiment
