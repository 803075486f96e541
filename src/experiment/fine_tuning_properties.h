// The properties that all fine-tuning experiments share, as the reference's SFTTrainer actuator names them.
#pragma once

#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

/// Required ones first. What one process on one machine cannot do is in the domains, and not in `supported`.
std::vector<PropertySpec> FineTuningProperties();

}  // namespace assay::experiment
