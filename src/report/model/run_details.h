// All that a page shows of one run and that a model leaves out.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "samplestore/measurement.h"

namespace assay::report {

/// {"uid", "values": {target: value}, "told": {entry of provenance: text}, "series": {...}, "lanes": ...}: series and
/// lanes as the model has them, in as many points as a wide screen shows.
nlohmann::json RunDetails(const samplestore::Measurement& run);

}  // namespace assay::report
