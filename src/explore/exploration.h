// One exploration while it runs: what its threads share.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "explore/early_stop.h"
#include "explore/endings.h"
#include "explore/explore.h"

namespace assay::explore {

/// With what is taken from the machine where it is not said. What else changes how points are run here, and so what is
/// replayed, is told to them: how many there are at once.
ExploreOptions Completed(ExploreOptions options);

/// Looks at points in `repeats` rounds of `round_size`; the largest number where there are more.
int64_t LooksIn(int64_t round_size, int64_t repeats);

/// Hands out the points of a space, takes their results, and decides when to stop. Run() is called once.
class Exploration {
 public:
  Exploration(const experiment::BoundSpace& space, samplestore::SampleStore& store, const ExploreOptions& options,
              const ExploreCallbacks& callbacks);

  Result<ExploreSummary> Run();

 private:
  /// What a thread does next.
  struct Task {
    int64_t index = 0;
    int64_t number = 0;  ///< of all that are looked at in all rounds, from 0
    int64_t round = 0;   ///< of the repeats, from 0
    bool again = false;  ///< somebody else was measuring it when it was looked at before
  };

  void Work();
  /// Nothing: there is nothing left, or the operation ends.
  std::optional<Task> NextTask();
  int64_t total() const { return LooksIn(round_size(), options_.repeats); }
  /// Points that are looked at in each of the repeats.
  int64_t round_size() const;
  /// The point that is looked at as number `number` of all rounds; nothing: the sampler has no more.
  std::optional<int64_t> IndexOf(int64_t number);
  /// What the sampler is told of `result`; empty where it has none.
  std::vector<double> ObjectivesOf(const PointResult& result) const;
  /// Tells the sampler, and finds out whether that is enough.
  void TellSampler(const Task& task, const std::vector<double>& objectives);
  Status Handle(const Task& task);
  Status Measure(const Task& task, const experiment::BoundPoint& point);
  /// Whether the repeats of `point` end with the one that `task` made.
  Status LookAtMean(const Task& task, const experiment::BoundPoint& point);
  Result<PointResult> MeasureWithRetries(const experiment::BoundPoint& point, const MeasureOptions& options);
  MeasureOptions OptionsFor(const Task& task);
  /// That which `task`'s run ends by; nullptr: by none.
  EarlyStop* EarlyStopOf(const Task& task);

  /// False when max_points are measured or being measured: nothing more is handed out then, unless a reservation is
  /// returned, and `task` is deferred until then.
  bool ReserveMeasurement(const Task& task);
  void ReturnReservation();
  void Finish(const Task& task, const experiment::BoundPoint& point, const PointResult& result);
  void Count(const PointResult& result);
  /// Stops the operation when `result`'s cause is a mistake that all points would meet.
  void StopOnCommonMistake(const PointResult& result);
  bool AnyPointHasItsInputs() const;
  void Tell(const std::function<void(const PointStart&)>& callback, const Task& task,
            const experiment::BoundPoint& point) const;
  void Defer(const Task& task);
  void StopWith(const Status& status);
  /// Keeps with the operation how its points ended.
  Status KeepEndings();
  std::string_view ExitState() const;

  const experiment::BoundSpace& space_;
  samplestore::SampleStore& store_;
  ExploreOptions options_;
  ExploreCallbacks callbacks_;
  std::deque<EarlyStop> early_stops_;  ///< one for each experiment of the space; none where no run ends early

  mutable std::mutex callback_mutex_;  ///< held while a callback runs
  std::mutex mutex_;                   ///< guards all below
  int64_t next_task_ = 0;
  std::vector<int64_t> given_;             ///< by the sampler, in its order
  std::vector<std::vector<double>> best_;  ///< objectives of which none is better in all
  std::set<int64_t> complete_;             ///< points of which no more repeats are made
  int64_t without_gain_ = 0;               ///< points since the last that was better
  std::deque<Task> deferred_;  ///< of points that somebody else was measuring, or that max_points did not allow yet
  int64_t reserved_ = 0;       ///< measurements made or being made
  bool limit_reached_ = false;
  bool looked_for_common_mistake_ = false;
  Endings endings_;
  Status error_;
  ExploreSummary summary_;
};

}  // namespace assay::explore
