// From a complete fine-tuning point to what the worker must do: the command line of the reference, as a plan.
#pragma once

#include "experiment/experiment.h"

namespace assay::experiment {

/// The model, the data set and the budget exist and can be read; reads neither weights nor rows.
Status CheckFineTuningInputs(const Experiment& experiment, const space::Entity& point, const PlanContext& context);

/// A plan with method "full". Prepares the data set (found again in the cache).
/// As Experiment::Contents says.
Result<std::map<std::string, std::string>> FineTuningContents(const space::Entity& point, const PlanContext& context);

Result<RunPlan> PlanFineTuning(const Experiment& experiment, const space::Entity& point, const PlanContext& context);

/// OutOfMemory where no batch could make the model fit this machine, by its size: what is free at the moment does not
/// count.
Status CheckModelFits(const space::Entity& point, const job::TunePlan& plan, const PlanContext& context);

}  // namespace assay::experiment
