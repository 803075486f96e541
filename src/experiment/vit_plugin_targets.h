// What the ViT plugin benchmark measures.
#pragma once

#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

const std::vector<TargetSpec>& VitPluginTargets();

}  // namespace assay::experiment
