// What an exploration is doing, for whoever looks on.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "explore/explore.h"
#include "explore/run_pace.h"

namespace assay::explore {

/// Hears what Explore() tells, and says it as one JSON object:
///
///     space, host, started_at, at    its name, the machine, UTC
///     total, done                    measurements asked for, and finished
///     measured, replayed, invalid, failed, ended_early, waiting    of the finished; points that others measure now
///     seconds_left                   until the last point, if none of the rest is replayed; null: not known yet
///     running: [{number, label, experiment, seconds, phase, step, steps, loss, rate, unit, seconds_left,
///                losses: [[step, loss]]}]    the first points of the space; of many at once a few losses each
///     more_running                   how many run beside them
///     recent: [{number, label, outcome, replayed, reason, seconds, uid}]    the last few, the newest first; the
///                                    outcome of what a rule of the search ended is ended_early
///
/// Not thread-safe.
class LiveState {
 public:
  /// `space` must outlive it. Times are on MonotonicSeconds().
  LiveState(const experiment::BoundSpace& space, int64_t total, int workers);

  void OnStart(const PointStart& start, double now);
  void OnBusy(const PointStart& start);
  void OnEvent(int64_t index, const job::Event& event, double now);
  void OnDone(const PointDone& done, double now);

  std::string ToJson(double now) const;

 private:
  struct Running {
    int64_t number = 0;
    std::string label;
    std::string experiment;
    double began = 0;
    std::string phase;
    RunPace pace;
    job::Step last;  ///< step 0: none yet
    std::vector<std::pair<int64_t, double>> losses;
    int64_t every = 1;  ///< of the steps so many make one of `losses`
  };
  struct Done {
    int64_t number = 0;
    std::string label;
    std::string outcome;
    bool replayed = false;
    std::string reason;
    double seconds = 0;
    std::string uid;
  };

  nlohmann::json RunJson(const Running& run, double now) const;
  std::string LabelOf(const experiment::BoundPoint& point) const;
  void OnStep(Running& run, const job::Step& step);
  double SecondsLeft(double now) const;

  const experiment::BoundSpace& space_;
  const std::string host_;
  const std::string started_at_;
  const int64_t total_;
  const int workers_;
  int64_t done_ = 0;
  std::map<std::string, int64_t> counts_;
  int64_t timed_points_ = 0;
  double timed_seconds_ = 0;
  std::map<int64_t, Running> running_;  ///< by index in the space
  std::map<int64_t, Running> waiting_;  ///< for others that measure it; likewise
  std::deque<Done> recent_;
};

}  // namespace assay::explore
