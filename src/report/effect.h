// What a change of one property does, from pairs of configurations that differ in nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/findings.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

/// Two configurations that differ in one property alone, both valid.
struct MatchedPair {
  const Configuration* from = nullptr;
  const Configuration* to = nullptr;
};

/// All pairs of valid configurations whose `property` is `from` and `to` and whose other varying coordinates agree.
std::vector<MatchedPair> MatchedPairs(const ResultSet& results, const std::string& property, const space::Value& from,
                                      const space::Value& to);

/// Ratios of a metric over pairs, `to` by `from`.
struct Effect {
  double ratio = 1;  ///< geometric mean
  double low = 1;    ///< least and greatest of the pairs
  double high = 1;
  size_t pairs = 0;
  size_t with_intervals = 0;  ///< pairs where both sides have an interval
  size_t apart = 0;           ///< pairs whose intervals do not overlap
  /// 95 % interval of the geometric mean, with the pairs as the sample: from three pairs on.
  std::optional<std::pair<double, double>> interval;
};

/// Nothing when no pair has the metric on both sides, or a value is not positive.
std::optional<Effect> EffectOn(const std::vector<MatchedPair>& pairs, const Metric& metric);

/// From three pairs on, "clear" takes an interval of the mean that excludes 1; below, intervals that are apart in every
/// pair, all in one direction.
Strength StrengthOf(const Effect& effect);

/// A finding for each varying property: methods against full fine-tuning (else the first), the greatest against the
/// least of a number, each further value of anything else against the first.
std::vector<Finding> FindEffects(const ResultSet& results, const std::vector<Metric>& metrics);

}  // namespace assay::report
