#include "experiment/fine_tuning_experiment.h"

#include "experiment/fine_tuning_measure.h"
#include "experiment/fine_tuning_plan.h"
#include "experiment/fine_tuning_properties.h"
#include "experiment/fine_tuning_rules.h"
#include "experiment/fine_tuning_targets.h"
#include "measure/machine.h"

namespace assay::experiment {

FineTuningExperiment::FineTuningExperiment(FineTuningDefinition definition)
    : definition_(std::move(definition)), properties_(FineTuningProperties()) {
  properties_.insert(properties_.end(), definition_.properties.begin(), definition_.properties.end());
}

const std::vector<TargetSpec>& FineTuningExperiment::targets() const {
  return FineTuningTargets();
}

Verdict FineTuningExperiment::Check(const space::Entity& point) const {
  return CheckFineTuningRules(point);
}

Status FineTuningExperiment::CheckInputs(const space::Entity& point, const PlanContext& context) const {
  return CheckFineTuningInputs(*this, point, context);
}

Result<std::map<std::string, std::string>> FineTuningExperiment::Contents(const space::Entity& point,
                                                                          const PlanContext& context) const {
  return FineTuningContents(point, context);
}

Result<RunPlan> FineTuningExperiment::Plan(const space::Entity& point, const PlanContext& context) const {
  ASSAY_ASSIGN_OR_RETURN(RunPlan plan, PlanFineTuning(*this, point, context));
  job::TunePlan& tune = std::get<job::TunePlan>(plan.work);
  definition_.specialize(point, tune);
  // By the machine's size: what is free at the moment says nothing about the point.
  ASSAY_RETURN_IF_ERROR(CheckModelFits(point, tune, context, measure::FindMemoryRoom().total_bytes));
  return plan;
}

Result<Measured> FineTuningExperiment::Measure(const space::Entity& point, const RunPlan& plan,
                                               const job::RunRecord& record) const {
  return MeasureFineTuning(point, plan, record);
}

}  // namespace assay::experiment
