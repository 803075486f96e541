// A random walk as an exploration: which points, in which order, how many at once.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "experiment/point.h"
#include "explore/explore.h"
#include "explore/operation/operation_file.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// Sets of `options`, which are otherwise whole, the points at once, retries, whether what the store has is replayed,
/// the sampler and the budget: what the store has of the space now, and what of it holds here, decides where the walk
/// asks for it. kInvalidArgument names `file`: a property to group by that the space does not have, more entities than
/// there are.
Status UseWalk(const OperationFile& file, const experiment::BoundSpace& space, samplestore::SampleStore& store,
               uint64_t seed, ExploreOptions& options);

}  // namespace assay::explore
