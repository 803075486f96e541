// Repeats of a point that end once its mean is known well enough.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "experiment/point.h"
#include "explore/measure_point.h"
#include "measure/statistics.h"
#include "samplestore/sample_store.h"

namespace assay::explore {

/// When repeats of a point end: at the first look at which the interval of its mean, at 95 % over all looks
/// (measure::SequentialInterval), is narrow enough. It is looked at after each run from the third to the last.
struct RepeatUntil {
  double interval = 0;      ///< half of its width by the mean
  std::string target = {};  ///< empty: the throughput of the point's experiment
  int64_t at_most = 0;      ///< runs
};

/// The mean of a point's runs as a look found it.
struct RepeatedMean {
  std::string target;
  std::string unit;
  measure::MeanEstimate estimate;  ///< `batches` are runs
  bool narrow = false;             ///< as narrow as was asked

  double relative_half_width() const { return estimate.half_width() / std::abs(estimate.mean); }
};

/// Looks at the first three of `runs`, the first four, and so on, until it is narrow. `runs` are the valid ones of a
/// point of `experiment` in the order in which they were made. Nothing for fewer than three that have the target.
std::optional<RepeatedMean> LookAtRuns(const experiment::Experiment& experiment,
                                       std::span<const samplestore::Measurement> runs, const RepeatUntil& until);

/// Of what `store` has of `point` and holds here, as a replay with `options` would count it.
Result<std::optional<RepeatedMean>> LookAtPoint(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                                                const MeasureOptions& options, const RepeatUntil& until);

/// Whether an experiment of `space` measures `target`; an error names what is near.
Status CheckTarget(const experiment::BoundSpace& space, const std::string& target);

}  // namespace assay::explore
