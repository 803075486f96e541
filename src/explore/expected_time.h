// How long the points of a space are expected to take, by what a store has of its experiments.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "experiment/point.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

struct ExpectedTime {
  double point_seconds = 0;  ///< median time in training, without the start of workers
  int64_t measurements = 0;  ///< that it is the median of
};

/// By the valid measurements of the experiments of `space` with the same parameters, whatever their points and
/// machines; nothing where the store has none, or the experiments do not tell their time.
Result<std::optional<ExpectedTime>> ExpectTime(const experiment::BoundSpace& space, samplestore::SampleStore& store);

}  // namespace assay::explore
