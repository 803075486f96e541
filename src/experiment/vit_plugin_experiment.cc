#include "experiment/vit_plugin_experiment.h"

#include "experiment/vit_plugin_measure.h"
#include "experiment/vit_plugin_plan.h"
#include "experiment/vit_plugin_properties.h"
#include "experiment/vit_plugin_report.h"
#include "experiment/vit_plugin_targets.h"

namespace assay::experiment {

VitPluginExperiment::VitPluginExperiment()
    : Experiment(
          {.id = "vit_plugin_benchmark-v1.0.0",
           .description =
               "Speed, memory and communication of parallel plugins (DDP, ZeRO, Gemini, FSDP, hybrid) that train "
               "a ViT",
           .properties = VitPluginProperties(),
           .targets = VitPluginTargets(),
           .report = VitPluginReport()}) {}

Verdict VitPluginExperiment::Check(const space::Entity& point) const {
  return CheckVitPluginRules(point);
}

Status VitPluginExperiment::CheckInputs(const space::Entity& point, const PlanContext& context) const {
  return CheckVitPluginInputs(*this, point, context);
}

Result<std::map<std::string, std::string>> VitPluginExperiment::Contents(const space::Entity& point,
                                                                         const PlanContext& context) const {
  return VitPluginContents(point, context);
}

Result<RunPlan> VitPluginExperiment::Plan(const space::Entity& point, const PlanContext& context) const {
  return PlanVitPlugin(*this, point, context);
}

Result<Measured> VitPluginExperiment::Measure(const space::Entity& point, const RunPlan& plan,
                                              const job::RunRecord& record) const {
  return MeasureVitPlugin(point, plan, record);
}

}  // namespace assay::experiment
