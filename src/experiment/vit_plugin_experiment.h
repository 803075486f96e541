// vit_plugin_benchmark-v1.0.0: parallel plugins on ViT, by the published protocol or a fair one.
//
// Colossal-AI, examples/images/vit/vit_benchmark.py: the properties' names, the model, the optimiser and 20 steps on
// random images.
#pragma once

#include "experiment/experiment.h"

namespace assay::experiment {

class VitPluginExperiment : public Experiment {
 public:
  VitPluginExperiment();

  Verdict Check(const space::Entity& point) const override;
  Status CheckInputs(const space::Entity& point, const PlanContext& context) const override;
  Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                      const PlanContext& context) const override;
  Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const override;
  Result<Measured> Measure(const space::Entity& point, const RunPlan& plan,
                           const job::RunRecord& record) const override;
};

}  // namespace assay::experiment
