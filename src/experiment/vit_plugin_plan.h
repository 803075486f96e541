// From a complete point of the ViT plugin benchmark to what its ranks must do.
#pragma once

#include "experiment/experiment.h"

namespace assay::experiment {

/// The model exists, and the machine has the GPUs; reads no weights.
Status CheckVitPluginInputs(const Experiment& experiment, const space::Entity& point, const PlanContext& context);

/// With the losses that the gate compares with, or the run that yields them.
/// As Experiment::Contents says.
Result<std::map<std::string, std::string>> VitPluginContents(const space::Entity& point, const PlanContext& context);

Result<RunPlan> PlanVitPlugin(const Experiment& experiment, const space::Entity& point, const PlanContext& context);

}  // namespace assay::experiment
