// The experiments that exist, by id.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"

namespace assay::experiment {

/// All experiments, in the order in which they are listed. They live as long as the program.
const std::vector<const Experiment*>& AllExperiments();

/// The experiment of `catalogue` named `id`, or kNotFound with the nearest id and the command that lists them.
Result<const Experiment*> FindExperiment(std::string_view id, Experiments catalogue = AllExperiments());

}  // namespace assay::experiment
