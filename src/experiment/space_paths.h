// Relative paths in a space file mean the same wherever a command is run from.
#pragma once

#include <vector>

#include "experiment/experiment.h"
#include "space/discovery_space.h"

namespace assay::experiment {

/// Makes the paths of `space` absolute that are relative to the folder of its file, in the properties that take a name
/// or a path. Names, and what exists nowhere, stay as they are; a path that exists only relative to the working folder
/// is an error.
Status ResolvePaths(const std::vector<const Experiment*>& experiments, space::DiscoverySpace& space);

}  // namespace assay::experiment
