// Operations over a discovery space: every point measured once, or so many times in turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/point.h"
#include "explore/early_stop.h"
#include "explore/measure_point.h"
#include "explore/repeated_mean.h"
#include "explore/search/sampler.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// Of points, whatever is asked for: each has a thread here, wherever it runs.
inline constexpr int64_t kMostAtOnce = 1024;

struct ExploreOptions {
  MeasureOptions measure = {};
  int workers = 1;  ///< points at once; more than one shares the machine where they run here: timings are less honest
  int64_t max_points = -1;  ///< points to measure now, replays not counted, forbidden ones are; -1: all
  int retries = 0;  ///< of a failed point, within this operation; one whose machine was lost moves without counting
  /// Valid measurements that each point shall have. They are made in turns, A B C A B C, so that what the machine does
  /// meanwhile meets all points alike; what the store has already counts. Invalid points are not repeated.
  int repeats = 1;
  /// Ends those of a point before, and begins with `repeats` as at_most. Not with measurements that are made again
  /// whatever the store has.
  std::optional<RepeatUntil> until = {};
  /// Ends runs of the first of the repeats by their progress, and replays what the same rule ended before.
  std::optional<EarlyStopOptions> early_stop = {};
  int64_t budget = -1;  ///< points to look at, whether they are measured or replayed; -1: all
  /// Chooses the points, in which order; empty: in the space's. It is told of every point that was looked at.
  std::shared_ptr<Sampler> sampler = {};
  /// What the sampler is told of a valid measurement: numbers of which smaller ones are better. From
  /// several threads at once: it may read the store.
  std::function<std::vector<double>(const samplestore::Measurement&)> objectives = {};
  int64_t patience = -1;  ///< ends after so many points of which none was better than all before; -1: never
  /// Kept with the operation, as a JSON object or empty; how its points ended is added (explore/endings.h).
  std::string details = {};
};

/// A point that will be measured, for a progress display.
struct PointStart {
  int64_t index = 0;   ///< in the space's order
  int64_t number = 0;  ///< of all measurements that were asked for, from 1
  int64_t total = 0;   ///< points times experiments times repeats
  const experiment::BoundPoint* point = nullptr;
};

/// What happened to one point. `total` as above.
struct PointDone {
  int64_t index = 0;  ///< in the space's order
  int64_t done = 0;   ///< measurements finished so far, this one included
  int64_t total = 0;
  const experiment::BoundPoint* point = nullptr;
  const PointResult* result = nullptr;
};

/// What the runs of a point say, once they end: since it is narrow enough, or since all were made.
struct PointMean {
  const experiment::BoundPoint* point = nullptr;
  const RepeatedMean* mean = nullptr;
};

struct ExploreCallbacks {
  std::function<void(const PointStart&)> on_start = {};
  std::function<void(const PointStart&)> on_busy = {};  ///< somebody else measures it; it is looked at again later
  std::function<void(const PointDone&)> on_done = {};
  std::function<void(int64_t index, const job::Event&)> on_event = {};
  std::function<void(const PointMean&)> on_mean = {};  ///< with `until`
};

struct ExploreSummary {
  int64_t measured = 0;  ///< valid, now
  int64_t invalid = 0;   ///< found now
  int64_t failed = 0;
  int64_t replayed = 0;
  int64_t ended_early = 0;  ///< now: measured in part, by `early_stop`
  int64_t narrow = 0;       ///< points whose repeats ended since their interval is narrow enough
  int64_t wide = 0;         ///< points of which all were made, and it is not
  int64_t spared = 0;       ///< repeats of the former that were not made
  int64_t remaining = 0;    ///< not looked at: max_points was reached, or interrupted
  double seconds = 0;
  bool settled = false;  ///< `patience` points brought nothing better
  bool interrupted = false;
  Status stopped_by;  ///< not ok: a mistake of the user's that every further point would meet too
  std::string operation_uid;
};

/// Goes through the points in the space's order, once for each repeat. Callbacks come one at a time, though from
/// several threads. Ctrl-C stops the workers and keeps what was measured (`interrupted`). An error means that the store
/// failed or that no worker can be started.
Result<ExploreSummary> Explore(const experiment::BoundSpace& space, samplestore::SampleStore& store,
                               const ExploreOptions& options, const ExploreCallbacks& callbacks);

}  // namespace assay::explore
