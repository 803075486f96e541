// Series of runs, thinned until all of them together are small enough.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "samplestore/measurement.h"

namespace assay::report {

/// By uid, those of `runs` in their order while there is room for `most_points` in all: by name {"x": [...], "y":
/// [...]}, x in steps from 1 or, of what was sampled, in seconds. What is zero throughout is left out.
nlohmann::json SeriesPart(const std::vector<const samplestore::Measurement*>& runs, size_t most_points);

/// One series, thinned to about `most_points`.
nlohmann::json SeriesJson(const samplestore::Measurement& run, std::string_view name, size_t most_points);

/// Of a run those that people look at.
std::vector<std::string> ShownSeries(const samplestore::Measurement& run);

}  // namespace assay::report
