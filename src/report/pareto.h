// Configurations that nothing beats in two targets at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "report/estimates.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

/// Which way a value is better.
enum class Better { kHigher, kLower, kNeither };

/// kNeither of what is no merit by itself: how busy a processor is, what reports know nothing of.
Better BetterOf(MetricKind kind);

/// The front of two metrics: no configuration of the same machine and commit is as good in both and better in one, by
/// the values alone. Each combination of conditions has a front of its own.
struct Front {
  size_t x = 0;  ///< places among the metrics
  size_t y = 0;
  std::vector<size_t> configurations;  ///< in their order
};

/// One for each two metrics that have a better side.
std::vector<Front> FindFronts(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates);

/// The configurations, in their order, that have all `objectives` (places among `metrics`, which have a better side)
/// and of which none of the same machine and commit is as good in all and better in one.
std::vector<size_t> NothingBeats(const ResultSet& results, const std::vector<Metric>& metrics,
                                 const Estimates& estimates, std::span<const size_t> objectives);

/// For each configuration the number of its combination of conditions, from 0, in the order in which they come.
std::vector<size_t> ConditionGroups(const ResultSet& results);

}  // namespace assay::report
