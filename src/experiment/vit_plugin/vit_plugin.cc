#include "experiment/vit_plugin/vit_plugin.h"

namespace assay::experiment {

VitPluginExperiment::VitPluginExperiment()
    : Experiment(
          {.id = "vit_plugin_benchmark-v1.0.0",
           .description =
               "Speed, memory and communication of parallel plugins (DDP, ZeRO, Gemini, FSDP, hybrid) that train "
               "a ViT",
           .properties = SpecsOf(VitPluginProperties()),
           .targets = VitPluginTargets(),
           .report = VitPluginReport()}) {}

Verdict VitPluginExperiment::Check(const space::Entity& point) const {
  return CheckVitPluginRules(point);
}

Result<Measured> VitPluginExperiment::Measure(const space::Entity& point, const RunPlan& plan,
                                              std::span<const job::RunRecord> runs) const {
  return MeasureVitPlugin(point, plan, runs.front());
}

const Experiment& VitPluginBenchmark() {
  static const VitPluginExperiment experiment;
  return experiment;
}

}  // namespace assay::experiment
