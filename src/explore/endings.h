// How the points of an operation ended, as it is kept with it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "experiment/point.h"
#include "explore/measure_point.h"
#include "explore/repeated_mean.h"

namespace assay::explore {

/// Of each point that was looked at. Not thread-safe.
class Endings {
 public:
  /// Point `index` has a further result, made now or replayed.
  void Add(int64_t index, const PointResult& result);
  /// Its repeats ended with the last result, and with this mean.
  void AddMean(int64_t index, const RepeatedMean& mean);

  /// `details`, a JSON object or empty, with
  ///
  ///     ended_early: [{experiment, entity, uid, reason, replayed}]    where points did
  ///     repeats: {interval, maximum, invalid, failure, ended_early, unfinished: points whose repeats ended so,
  ///               points: [{experiment, entity, runs, ended_by, target, mean, relative_half_width}]}
  ///
  /// the latter where `repeats` is more than one: `runs` are valid, the last three there where an interval was asked
  /// for. Of very many points the first are listed.
  std::string AddedTo(const std::string& details, const experiment::BoundSpace& space, int64_t repeats) const;

 private:
  struct Ending {
    int64_t runs = 0;    ///< valid
    int64_t failed = 0;  ///< rounds
    bool invalid = false;
    std::optional<RepeatedMean> mean;
    std::string early_uid;  ///< of the measurement that ended early
    std::string early_reason;
    bool early_replayed = false;
  };

  nlohmann::json EarlyJson(const experiment::BoundSpace& space) const;
  nlohmann::json RepeatsJson(const experiment::BoundSpace& space, int64_t repeats) const;
  static const char* EndedBy(const Ending& ending, int64_t repeats);

  std::map<int64_t, Ending> endings_;  ///< by index in the space
};

}  // namespace assay::explore
