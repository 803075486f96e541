// From the events of all ranks of a ViT run to its target properties.
#pragma once

#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

/// `record` ended as done. kFailedPrecondition when losses or gradient norms do not follow the reference's: the point
/// is invalid.
Result<Measured> MeasureVitPlugin(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record);

/// Relative differences from the reference.
struct GateDifference {
  double loss = 0;
  double grad_norm = 0;
};

/// What runs in `precision` may differ by from those in fp32 with everything on every rank; see
/// docs/vit-plugins.md.
GateDifference GateTolerance(const std::string& precision);

}  // namespace assay::experiment
