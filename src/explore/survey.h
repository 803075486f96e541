// What an exploration would do, without doing it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "experiment/point.h"
#include "explore/measure_point.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// What an exploration would do with one point, now.
enum class Prospect {
  kReplay,   ///< the store has as many measurements that hold here as are wanted
  kForbid,   ///< a rule forbids it: it would be recorded as invalid without a run
  kMeasure,  ///< it would be run
};

/// Points by prospect.
struct Survey {
  int64_t replayed = 0;
  int64_t forbidden = 0;
  int64_t missing = 0;        ///< would be run
  int64_t not_looked_at = 0;  ///< behind the last that would be run
};

/// Looks at the points of `space` until `max_missing` would be run (-1: at all of them); `options` as for an
/// exploration, `options.wanted` the repeats. `visit` may be empty. Ends early, with kAborted, on Ctrl-C.
Result<Survey> SurveySpace(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                           const MeasureOptions& options, int64_t max_missing = -1,
                           const std::function<void(const experiment::BoundPoint&, Prospect)>& visit = {});

}  // namespace assay::explore
