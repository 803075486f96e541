// Which measurements of a store a verb works on: those of a space, or those of an experiment.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "samplestore/measurement.h"

namespace assay::cli {

struct Selection {
  std::string space;       ///< path of a YAML file, or empty
  std::string experiment;  ///< id, or empty: all
  std::string store;
};

/// SPACE.yaml, --experiment, --store.
void AddSelectionOptions(CLI::App& app, Selection& selection);

/// Of a space: the newest measurement of each point, in the space's order; else all of the experiment.
Result<std::vector<samplestore::Measurement>> Select(const Selection& selection, bool with_series);

}  // namespace assay::cli
