#include "experiment/fine_tuning/fine_tuning.h"

#include "experiment/measured_values.h"

namespace assay::experiment {
namespace {

Declaration DeclarationOf(const FineTuningDefinition& definition) {
  return {.id = definition.id,
          .description = definition.description,
          .actuator = "SFTTrainer",
          .method = definition.method,
          .is_baseline = definition.is_baseline,
          .properties = SpecsOf(WithOwn(FineTuningProperties(), definition.properties)),
          .targets = definition.targets.empty() ? FineTuningTargets() : definition.targets,
          .runs = definition.runs,
          .report = definition.report};
}

}  // namespace

FineTuningExperiment::FineTuningExperiment(FineTuningDefinition definition)
    : Experiment(DeclarationOf(definition)),
      definition_(std::move(definition)),
      properties_(WithOwn(FineTuningProperties(), definition_.properties)) {}

Verdict FineTuningExperiment::Check(const space::Entity& point) const {
  Verdict verdict = CheckFineTuningRules(point);
  if (verdict.valid()) {
    // A text that is no number of bytes is the user's mistake, and no rule's matter.
    const Result<job::TunePlan> plan = TrainingOf(point, {});
    verdict.reason = plan.ok() ? job::CheckParallel(*plan).message() : "";
  }
  if (verdict.valid() && definition_.rule != nullptr) {
    verdict.reason = definition_.rule(point);
  }
  return verdict;
}

Result<Measured> FineTuningExperiment::Measure(const space::Entity& point, const RunPlan& plan,
                                               std::span<const job::RunRecord> runs) const {
  if (definition_.gate != nullptr) {
    ASSAY_RETURN_IF_ERROR(definition_.gate(plan, runs));
  }
  if (definition_.measure == nullptr) {
    return MeasureFineTuning(point, plan, runs.front());
  }
  ASSAY_ASSIGN_OR_RETURN(Measured measured, definition_.measure(point, plan, runs));
  ASSAY_RETURN_IF_ERROR(CheckFinite(measured));
  AddUnits(targets(), measured);
  return measured;
}

}  // namespace assay::experiment
