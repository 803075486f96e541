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

/// What a run may differ by from one in fp32 with everything on every rank, by the coarsest type that it computes or
/// communicates in: ten times what such runs were measured to (fp32: a hundred times, fp8: not measured); see
/// docs/vit-plugins.md.
GateDifference GateTolerance(const job::VitPlan& plan);

}  // namespace assay::experiment
