#include "experiment/catalogue.h"

#include <fmt/format.h>

#include <string>

#include "base/json.h"

namespace assay::experiment {

// Each in its file.
const Experiment& CheckpointShardedBenchmark();
const Experiment& CheckpointSingleBenchmark();
const Experiment& ConnectorFinetuneBenchmark();
const Experiment& FinetuneFullBenchmark();
const Experiment& FinetuneFullStability();
const Experiment& FinetuneGptqLoraBenchmark();
const Experiment& FinetuneGtpqLoraBenchmark();
const Experiment& FinetuneLoraBenchmark();
const Experiment& FinetunePromptBenchmark();
const Experiment& VitPluginBenchmark();

namespace {

using Declare = const Experiment& (*)();
constexpr Declare kRows[] = {&FinetuneFullBenchmark,     &FinetuneLoraBenchmark,     &FinetuneGtpqLoraBenchmark,
                             &FinetuneGptqLoraBenchmark, &FinetunePromptBenchmark,   &FinetuneFullStability,
                             &VitPluginBenchmark,        &CheckpointSingleBenchmark, &CheckpointShardedBenchmark,
                             &ConnectorFinetuneBenchmark};

}  // namespace

const std::vector<const Experiment*>& AllExperiments() {
  static const std::vector<const Experiment*> all = [] {
    std::vector<const Experiment*> experiments;
    for (const Declare declare : kRows) {
      experiments.push_back(&declare());
    }
    return experiments;
  }();
  return all;
}

Result<const Experiment*> FindExperiment(std::string_view id, Experiments catalogue) {
  std::vector<std::string> known;
  for (const Experiment* experiment : catalogue) {
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
