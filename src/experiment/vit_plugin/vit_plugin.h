// The parts of vit_plugin_benchmark-v1.0.0: parallel plugins on ViT, by the published protocol or a fair one.
//
// Colossal-AI, examples/images/vit/vit_benchmark.py: the properties' names, the model, the optimiser and 20 steps on
// random images.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiment/planned_property.h"
#include "job/vit_plan.h"

namespace assay::experiment {

using VitProperty = Planned<job::VitPlan>;

const std::vector<VitProperty>& VitPluginProperties();
const std::vector<TargetSpec>& VitPluginTargets();
/// Tables of the parts of memory and time, and what was published of the benchmark.
const ReportSections& VitPluginReport();
const std::vector<PartsChart>& VitPluginCharts();

class VitPluginExperiment : public Experiment {
 public:
  VitPluginExperiment();

  Verdict Check(const space::Entity& point) const override;
  Status CheckInputs(const space::Entity& point, const PlanContext& context) const override;
  Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                      const PlanContext& context) const override;
  Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const override;
  Result<Measured> Measure(const space::Entity& point, const RunPlan& plan,
                           std::span<const job::RunRecord> runs) const override;
};

/// The plan without the model's folder. An error is a property that the plugin does not read or a value that it cannot
/// have.
Result<job::VitPlan> VitPlanOf(const space::Entity& point);

/// The rules of a point: job::CheckVitPlan, and that ranks and GPUs go together.
Verdict CheckVitPluginRules(const space::Entity& point);

/// `record` ended as done. kFailedPrecondition when losses or gradient norms do not follow the reference's: the point
/// is invalid.
Result<Measured> MeasureVitPlugin(const space::Entity& point, const RunPlan& plan, const job::RunRecord& record);

}  // namespace assay::experiment
