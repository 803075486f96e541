#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {

FineTuningExperiment::FineTuningExperiment(const FineTuningDefinition& definition)
    : Experiment({.id = definition.id,
                  .description = definition.description,
                  .actuator = "SFTTrainer",
                  .method = definition.method,
                  .is_baseline = definition.is_baseline,
                  .properties = SpecsOf(WithOwn(FineTuningProperties(), definition.properties)),
                  .targets = FineTuningTargets(),
                  .report = FineTuningReport()}),
      properties_(WithOwn(FineTuningProperties(), definition.properties)),
      specialize_(definition.specialize) {}

Verdict FineTuningExperiment::Check(const space::Entity& point) const {
  return CheckFineTuningRules(point);
}

Result<Measured> FineTuningExperiment::Measure(const space::Entity& point, const RunPlan& plan,
                                               const job::RunRecord& record) const {
  return MeasureFineTuning(point, plan, record);
}

}  // namespace assay::experiment
