// The properties of the ViT plugin benchmark, and the plan that a point's properties stand for.
#pragma once

#include <vector>

#include "experiment/experiment.h"
#include "job/vit_plan.h"

namespace assay::experiment {

std::vector<PropertySpec> VitPluginProperties();

/// The plan without the model's folder. An error is a property that the plugin does not read or a value that it cannot
/// have.
Result<job::VitPlan> VitPlanOf(const space::Entity& point);

/// The rules of a point: job::CheckVitPlan, and that ranks and GPUs go together.
Verdict CheckVitPluginRules(const space::Entity& point);

}  // namespace assay::experiment
