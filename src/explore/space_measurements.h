// What a store has of a space.
#pragma once

#include <vector>

#include "base/status.h"
#include "experiment/point.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// The measurements of the points of `space`, in the space's order, each machine and commit for itself. Of a point's
/// runs on one host and commit: all valid ones, oldest first, where the newest that did not fail is valid; else that
/// one. A failed run only where its host has nothing else of the point. It is the store that is asked for what it has,
/// so the space may have any number of points. kAborted when an interruption is requested.
Result<std::vector<samplestore::Measurement>> MeasurementsOf(const experiment::BoundSpace& space,
                                                             samplestore::SampleStore& store, bool with_series);

}  // namespace assay::explore
