// vit_plugin_benchmark-v1.0.0: parallel plugins on ViT, by the published protocol or a fair one.
//
// Colossal-AI, examples/images/vit/vit_benchmark.py: the properties' names, the model, the optimiser and 20 steps on
// random images.
#pragma once

#include <string>
#include <vector>

#include "experiment/experiment.h"

namespace assay::experiment {

class VitPluginExperiment : public Experiment {
 public:
  const std::string& id() const override;
  const std::string& description() const override;
  const std::vector<PropertySpec>& properties() const override;
  const std::vector<TargetSpec>& targets() const override;

  Verdict Check(const space::Entity& point) const override;
  Status CheckInputs(const space::Entity& point, const PlanContext& context) const override;
  Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                      const PlanContext& context) const override;
  Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const override;
  Result<Measured> Measure(const space::Entity& point, const RunPlan& plan,
                           const job::RunRecord& record) const override;
};

}  // namespace assay::experiment
