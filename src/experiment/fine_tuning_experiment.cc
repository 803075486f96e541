#include "experiment/fine_tuning_experiment.h"

#include "experiment/fine_tuning_measure.h"
#include "experiment/fine_tuning_plan.h"
#include "experiment/fine_tuning_properties.h"
#include "experiment/fine_tuning_rules.h"
#include "experiment/fine_tuning_targets.h"
#include "measure/machine.h"

namespace assay::experiment {

namespace {

std::vector<PropertySpec> WithShared(const std::vector<PropertySpec>& own) {
  std::vector<PropertySpec> properties = FineTuningProperties();
  properties.insert(properties.end(), own.begin(), own.end());
  return properties;
}

ReportSections FineTuningReport() {
  return {.loss_of = "supervised tokens",
          .memory_phases = {{"load_peak_tensor_bytes", "load"},
                            {"forward_peak_tensor_bytes", "forward"},
                            {"backward_peak_tensor_bytes", "backward"},
                            {"optimizer_peak_tensor_bytes", "optimiser"}}};
}

}  // namespace

FineTuningExperiment::FineTuningExperiment(const FineTuningDefinition& definition)
    : Experiment({.id = definition.id,
                  .description = definition.description,
                  .actuator = "SFTTrainer",
                  .method = definition.method,
                  .is_baseline = definition.is_baseline,
                  .properties = WithShared(definition.properties),
                  .targets = FineTuningTargets(),
                  .report = FineTuningReport()}),
      specialize_(definition.specialize) {}

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
  specialize_(point, tune);
  // By the machine's size: what is free at the moment says nothing about the point.
  ASSAY_RETURN_IF_ERROR(CheckModelFits(point, tune, context, measure::FindMemoryRoom().total_bytes));
  return plan;
}

Result<Measured> FineTuningExperiment::Measure(const space::Entity& point, const RunPlan& plan,
                                               const job::RunRecord& record) const {
  return MeasureFineTuning(point, plan, record);
}

}  // namespace assay::experiment
