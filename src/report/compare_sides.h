// What became faster or slower, or took more or less memory, between two sets of measurements, and how sure that is.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/effect.h"
#include "report/estimate.h"
#include "report/metric.h"
#include "report/result_set.h"
#include "samplestore/measurement.h"

namespace assay::report {

enum class Change {
  kBetter,   ///< beyond doubt, with all other comparisons counted
  kWorse,    ///< likewise
  kSame,     ///< there are intervals, and they leave it open: not told apart
  kUnknown,  ///< too few runs for an interval: what lies between two runs may be chance
};

/// A metric of one point that both sides have measured.
struct PointChange {
  size_t point = 0;   ///< place in SideComparison::points
  size_t metric = 0;  ///< place in SideComparison::metrics
  Estimate before;
  Estimate after;
  Effect effect;                     ///< `after` by `before`
  std::optional<double> adjusted_p;  ///< Holm's, over all changes that have a p-value
  Change change = Change::kUnknown;
};

/// A metric over all points that both sides have.
struct OverallChange {
  size_t metric = 0;
  Effect effect;
  std::optional<double> adjusted_p;  ///< Holm's, over all metrics that have a p-value
  Change change = Change::kUnknown;
  size_t better = 0;  ///< points
  size_t worse = 0;
};

struct ComparedPoint {
  std::string experiment;  ///< parameterised id
  std::string entity_id;
  Configuration before;
  Configuration after;
  std::vector<std::string> differs;  ///< conditions (report/conditions.h) that are not the same on both sides
};

/// Points that are matched are those with valid runs on both sides. Where a side has runs of a point under several
/// conditions, of two hosts for example or of two contents of one file, the two groups are taken that agree most, the
/// host last, and of such the newest.
struct SideComparison {
  std::vector<Metric> metrics;  ///< that have a better side
  std::vector<ComparedPoint> points;
  std::vector<PointChange> changes;          ///< surest first
  std::vector<OverallChange> overall;        ///< one for each metric that points have on both sides
  std::vector<std::string> no_longer_valid;  ///< of points that had valid runs before and have other ones after
  std::vector<std::string> now_valid;
  size_t only_before = 0;  ///< points that the other side did not measure
  size_t only_after = 0;
};

/// `experiments` must outlive the result, and so must both sides.
SideComparison CompareSides(std::span<const samplestore::Measurement> before,
                            std::span<const samplestore::Measurement> after,
                            experiment::Experiments catalogue = experiment::AllExperiments());

}  // namespace assay::report
