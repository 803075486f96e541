// What the fine-tuning benchmarks yield for a valid point.
#pragma once

#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

/// The reference's properties by its definitions, then ours.
const std::vector<TargetSpec>& FineTuningTargets();

}  // namespace assay::experiment
