// What a store has of a space.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/status.h"
#include "experiment/point.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// The points of `space` that the store has, by their place in the space. It is the store that is asked for what it
/// has, so the space may have any number of points. kAborted when an interruption is requested.
Result<std::map<int64_t, samplestore::MemoKey>> PointsInStore(const experiment::BoundSpace& space,
                                                              samplestore::SampleStore& store);

/// Of the runs of one point, in the order of their arrival, those that count: see MeasurementsOf.
std::vector<samplestore::Measurement> RunsThatCount(std::vector<samplestore::Measurement> runs);

/// The points of `space`, by their place in it, that are not in `measured`: where the space is small enough that
/// somebody reads them as a list.
std::vector<experiment::BoundPoint> UnmeasuredOf(const experiment::BoundSpace& space,
                                                 std::span<const samplestore::Measurement> measured);

/// The measurements of the points of `space`, in the space's order. Of a point's runs on one host that agree in all
/// that a replay compares (commit, libtorch, settings, contents): all valid ones, oldest first, where the newest that
/// did not fail is valid; else that one. A failed run only where its host has nothing else of the point. It is the
/// store that is asked for what it has, so the space may have any number of points. kAborted when an interruption is
/// requested.
Result<std::vector<samplestore::Measurement>> MeasurementsOf(const experiment::BoundSpace& space,
                                                             samplestore::SampleStore& store, bool with_series);

}  // namespace assay::explore
