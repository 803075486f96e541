// What a change of one property does, from pairs of configurations that differ in nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/estimates.h"
#include "report/findings.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

Comparison Compare(const ResultSet& results, const std::string& property, const space::Value& from,
                   const space::Value& to);

/// Two configurations that differ in what is compared alone, both valid.
struct MatchedPair {
  const Configuration* from = nullptr;
  const Configuration* to = nullptr;
  /// Pairs of one place differ from each other in machine, commit or another condition alone: they repeat each other.
  size_t place = 0;
};

/// All pairs of valid configurations whose other varying coordinates, machine and commit among them, agree.
std::vector<MatchedPair> MatchedPairs(const ResultSet& results, const Comparison& comparison);

/// Ratios of a metric over pairs, `to` by `from`. Pairs of one place count as one, with their geometric mean.
struct Effect {
  double ratio = 1;  ///< geometric mean
  double low = 1;    ///< least and greatest, whatever the place
  double high = 1;
  size_t pairs = 0;          ///< places
  size_t fewest_groups = 1;  ///< pairs at a place: machines, commits and other conditions
  size_t most_groups = 1;
  bool within_runs = false;  ///< a value among them is no mean of repeated runs
  /// 95 % interval of the geometric mean. From three pairs on the pairs are the sample (Student); below it follows from
  /// the intervals of both sides (Welch), where all of them have one.
  std::optional<std::pair<double, double>> interval;
  std::optional<double> p_value;  ///< of a ratio as far from 1 where there is no effect; stands where `interval` does
};

/// Nothing when no pair has the metric on both sides, or a value is not positive.
std::optional<Effect> EffectOn(const std::vector<MatchedPair>& pairs, const Metric& metric);

struct Effects {
  std::vector<std::vector<Finding>> groups;  ///< of each varying property
  size_t comparisons = 0;                    ///< that were looked at
};

/// Findings for each varying property, the largest effects of a property first; their strength is not judged yet. Of a
/// number: the two values farthest apart that have matched pairs, and the best value where it is none of these. Of a
/// commit: each against the one before it. Of anything else: each value against the one that its experiment declares
/// others to be held against (else the first value), or against another where the two were never measured alike.
Effects FindEffects(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates);

}  // namespace assay::report
