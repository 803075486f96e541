// The estimate of every configuration and metric, made once.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "report/estimate.h"

namespace assay::report {

class Estimates {
 public:
  /// Keeps a reference to `metrics`.
  Estimates(const ResultSet& results, const std::vector<Metric>& metrics) : metrics_(metrics) {
    for (const Configuration& configuration : results.configurations()) {
      std::vector<std::optional<Estimate>>& row = rows_.emplace_back();
      for (const Metric& metric : metrics) {
        row.push_back(EstimateOf(configuration, metric));
      }
    }
  }

  /// By their places in the result set and among the metrics.
  const std::optional<Estimate>& At(size_t configuration, size_t metric) const { return rows_[configuration][metric]; }
  /// `configuration` is one of the result set, `metric` one of the metrics.
  const std::optional<Estimate>& Of(const Configuration& configuration, const Metric& metric) const {
    return At(configuration.index, static_cast<size_t>(&metric - metrics_.data()));
  }

 private:
  const std::vector<Metric>& metrics_;
  std::vector<std::vector<std::optional<Estimate>>> rows_;
};

}  // namespace assay::report
