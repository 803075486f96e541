// Series of runs, thinned until all of them together are small enough.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "samplestore/measurement.h"

namespace assay::report {

/// By uid, those of `runs` in their order while there is room for `most_points` in all: each as SeriesOfRun() has it.
nlohmann::json SeriesPart(const std::vector<const samplestore::Measurement*>& runs, size_t most_points);

/// Of a run what people look at, by name {"x": [...], "y": [...]}, x in steps from 1 or, of what was sampled, in
/// seconds, each thinned to about `most_points`, with the figure that it is shown in (model/figures.h) and its label
/// there. What is zero throughout is left out, and so is what was sampled and is no number throughout.
nlohmann::json SeriesOfRun(const samplestore::Measurement& run, size_t most_points);

}  // namespace assay::report
