// The estimate of every configuration and metric, made once.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "report/estimate.h"

namespace assay::report {

class Estimates {
 public:
  Estimates(const ResultSet& results, const std::vector<Metric>& metrics) {
    for (const Configuration& configuration : results.configurations()) {
      std::vector<std::optional<Estimate>>& row = rows_.emplace_back();
      for (const Metric& metric : metrics) {
        row.push_back(EstimateOf(configuration, metric));
      }
    }
  }

  /// By their places in the result set and among the metrics.
  const std::optional<Estimate>& At(size_t configuration, size_t metric) const { return rows_[configuration][metric]; }

 private:
  std::vector<std::vector<std::optional<Estimate>>> rows_;
};

}  // namespace assay::report
