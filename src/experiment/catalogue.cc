#include "experiment/catalogue.h"

#include <fmt/format.h>

#include <string>

#include "base/json.h"
#include "experiment/finetune_full.h"
#include "experiment/finetune_lora.h"
#include "experiment/vit_plugin_experiment.h"

namespace assay::experiment {

const std::vector<const Experiment*>& AllExperiments() {
  static const FineTuningExperiment full(FinetuneFullBenchmark());
  static const FineTuningExperiment lora(FinetuneLoraBenchmark());
  static const VitPluginExperiment vit;
  static const std::vector<const Experiment*> all = {&full, &lora, &vit};
  return all;
}

Result<const Experiment*> FindExperiment(std::string_view id) {
  std::vector<std::string> known;
  for (const Experiment* experiment : AllExperiments()) {
    if (experiment->id() == id) {
      return experiment;
    }
    known.push_back(experiment->id());
  }
  const std::string nearest = NearestName(id, known);
  return Status::NotFound(fmt::format("there is no experiment '{}'{} (assay experiments lists them)", id,
                                      nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest)));
}

}  // namespace assay::experiment
