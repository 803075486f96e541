// What the fine-tuning benchmarks have in common; they differ by a FineTuningDefinition.
#pragma once

#include <string>
#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

struct FineTuningDefinition {
  std::string id;
  std::string description;
  std::string method;                    ///< as Declaration::method
  bool is_baseline = false;              ///< of the fine-tuning experiments
  std::vector<PropertySpec> properties;  ///< beside FineTuningProperties()
  /// Turns the plan of full fine-tuning into this experiment's.
  void (*specialize)(const space::Entity& point, job::TunePlan& plan);
};

class FineTuningExperiment : public Experiment {
 public:
  explicit FineTuningExperiment(const FineTuningDefinition& definition);

  Verdict Check(const space::Entity& point) const override;
  Status CheckInputs(const space::Entity& point, const PlanContext& context) const override;
  Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                      const PlanContext& context) const override;
  Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const override;
  Result<Measured> Measure(const space::Entity& point, const RunPlan& plan,
                           const job::RunRecord& record) const override;

 private:
  void (*specialize_)(const space::Entity& point, job::TunePlan& plan);
};

}  // namespace assay::experiment
