// What an exploration would do, without doing it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "experiment/point.h"
#include "explore/explore.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// What an exploration would do with one point in one of its rounds, now.
enum class Prospect {
  kReplay,  ///< the store has as many measurements that hold here as are wanted, or has them by then, or none is needed
  kForbid,  ///< a rule forbids it: it would be recorded as invalid without a run
  kMeasure,  ///< it would be run
};

/// Points by prospect; each counts once for each of the repeats.
struct Survey {
  int64_t replayed = 0;
  int64_t forbidden = 0;
  int64_t missing = 0;        ///< would be run
  int64_t not_looked_at = 0;  ///< from the first on that max_points allows no more
};

/// Goes through the points of `space` as an exploration with the same options would that finds valid what no rule
/// forbids, and nobody else at work; a sampler is asked for points and told nothing of them. `visit` may be empty. Ends
/// early, with kAborted, on Ctrl-C.
Result<Survey> SurveySpace(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                           const ExploreOptions& options,
                           const std::function<void(const experiment::BoundPoint&, Prospect)>& visit = {});

}  // namespace assay::explore
