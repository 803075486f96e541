// From a complete fine-tuning point to what the worker must do: the command line of the reference, as a plan.
#pragma once

#include "experiment/experiment.h"

namespace assay::experiment {

/// The model, the data set and the budget exist and can be read; reads neither weights nor rows.
Status CheckFineTuningInputs(const Experiment& experiment, const space::Entity& point, const PlanContext& context);

/// As Experiment::Contents says.
Result<std::map<std::string, std::string>> FineTuningContents(const space::Entity& point, const PlanContext& context);

/// A plan with method "full". Prepares the data set (found again in the cache).
Result<RunPlan> PlanFineTuning(const Experiment& experiment, const space::Entity& point, const PlanContext& context);

/// OutOfMemory where no batch could make the model fit a machine that has `memory_bytes` for it. On a GPU nothing is
/// asked.
Status CheckModelFits(const space::Entity& point, const job::TunePlan& plan, const PlanContext& context,
                      int64_t memory_bytes);

}  // namespace assay::experiment
