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

/// Two values of a property, and the properties that change with it because they were never varied apart (GPUs and
/// ranks): what is found is said of all of them together.
struct Comparison {
  std::string property;
  space::Value from;
  space::Value to;
  std::vector<std::string> together;  ///< other varying properties with one value at `from` and another at `to`
};

Comparison Compare(const ResultSet& results, const std::string& property, const space::Value& from,
                   const space::Value& to);

/// Two configurations that differ in what is compared alone, both valid.
struct MatchedPair {
  const Configuration* from = nullptr;
  const Configuration* to = nullptr;
};

/// All pairs of valid configurations whose other varying coordinates, machine and commit among them, agree.
std::vector<MatchedPair> MatchedPairs(const ResultSet& results, const Comparison& comparison);

/// Ratios of a metric over pairs, `to` by `from`.
struct Effect {
  double ratio = 1;  ///< geometric mean
  double low = 1;    ///< least and greatest of the pairs
  double high = 1;
  size_t pairs = 0;
  size_t with_intervals = 0;  ///< pairs where both sides have an interval
  size_t apart = 0;           ///< pairs whose intervals do not overlap
  bool within_runs = false;   ///< a value among them is no mean of repeated runs
  /// 95 % interval of the geometric mean, with the pairs as the sample: from three pairs on.
  std::optional<std::pair<double, double>> interval;
};

/// Nothing when no pair has the metric on both sides, or a value is not positive.
std::optional<Effect> EffectOn(const std::vector<MatchedPair>& pairs, const Metric& metric);

/// From three pairs on, "clear" takes an interval of the mean that excludes 1; below, intervals that are apart in every
/// pair, all in one direction. Where a side was not run repeatedly it is clear in these runs only: pairs that agree say
/// nothing of what differs from one session to the next.
Strength StrengthOf(const Effect& effect);

/// Findings for each varying property, the largest effects of a property first. Of a number: the two values farthest
/// apart that have matched pairs, and the best value where it is none of these. Of a commit: each against the one
/// before it. Of anything else: each value against the one that its experiment declares others to be held against (else
/// the first value), or against another where the two were never measured alike.
std::vector<std::vector<Finding>> FindEffects(const ResultSet& results, const std::vector<Metric>& metrics);

}  // namespace assay::report
