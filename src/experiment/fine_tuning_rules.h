// The rules of the reference that make a fine-tuning point invalid before anything is launched.
#pragma once

#include "experiment/experiment.h"

namespace assay::experiment {

/// `point` is complete.
Verdict CheckFineTuningRules(const space::Entity& point);

}  // namespace assay::experiment
