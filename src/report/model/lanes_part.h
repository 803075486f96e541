// What each rank of a run did when, as lanes: out of the series that experiments keep of phases.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "samplestore/measurement.h"

namespace assay::report {

/// {"end", "spans": [{"name", "from", "to"}], "ranks": [{"rank", "from", "to", "steps", "first", "slowest",
/// "slowest_seconds", "phases": {name: [...]}}], "phases": [{"name", "title", "seconds"}]}, seconds since the worker
/// was started. Of more than `most_stretches` steps neighbours are taken together: their phases are summed, and the
/// slowest of them is kept by its number. The phases that took time stand in the order in which a step has them, with
/// the sums of each rank. Null where the run has no phases.
nlohmann::json LanesJson(const samplestore::Measurement& run, size_t most_stretches);

/// Whether a series is one that lanes are made of.
bool IsLaneSeries(std::string_view name);

}  // namespace assay::report
