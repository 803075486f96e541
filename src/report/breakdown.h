// Tables of parts, as experiments declare them: where the memory or the time of each configuration goes.
#pragma once

#include <optional>
#include <vector>

#include "experiment/presentation.h"
#include "report/estimate.h"
#include "report/result_set.h"

namespace assay::report {

struct BreakdownTable {
  const experiment::Breakdown* breakdown = nullptr;
  /// Those that any configuration has a value of: without a GPU there is no energy, in one rank no bandwidth.
  std::vector<experiment::BreakdownColumn> columns;
  /// Of each configuration with the breakdown's target one for each column; empty of the others.
  std::vector<std::vector<std::optional<Estimate>>> rows;
};

/// Those that any configuration has, of the experiments that were measured first. Keeps pointers to the experiments.
std::vector<BreakdownTable> BreakdownsOf(const ResultSet& results);

/// The mean of a column over the runs of a configuration that count and have it; nothing where none has.
std::optional<Estimate> EstimateOf(const Configuration& configuration, const experiment::BreakdownColumn& column);

}  // namespace assay::report
