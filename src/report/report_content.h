// Everything that a report says, before it takes a form: pages, models and exports are made of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "experiment/catalogue.h"
#include "report/breakdown.h"
#include "report/cost_model.h"
#include "report/estimates.h"
#include "report/findings.h"
#include "report/metric.h"
#include "report/pareto.h"
#include "report/result_set.h"
#include "samplestore/measurement.h"

namespace assay::report {

struct ReportInput {
  std::string title;                                       ///< of the page; plain text, as everything here
  std::string space_description = {};                      ///< what was asked; may be empty or have several lines
  std::span<const samplestore::Measurement> measurements;  ///< with their series, where they are to be shown
  size_t planned_points = 0;                               ///< points times experiments of the space; 0: not known
  /// Those of them that were not measured, where there are few enough to be listed.
  std::span<const UnmeasuredPoint> unmeasured = {};
  std::string generated_at = {};  ///< UTC, ISO 8601; empty: now
  /// Those that may have been measured: they declare how that is shown.
  experiment::Experiments catalogue = experiment::AllExperiments();
};

/// Keeps a reference to `input`, which must outlive it.
struct ReportContent {
  explicit ReportContent(const ReportInput& given)
      : input(given),
        results(given.measurements, given.catalogue, given.unmeasured),
        metrics(ResolveMetrics(results)),
        estimates(results, metrics),
        findings(FindFindings(results, metrics, estimates)),
        breakdowns(BreakdownsOf(results)),
        lines(FitCostLines(results, metrics)),
        fronts(FindFronts(results, metrics, estimates)) {}
  ReportContent(const ReportContent&) = delete;
  ReportContent& operator=(const ReportContent&) = delete;

  const ReportInput& input;
  const ResultSet results;
  const std::vector<Metric> metrics;
  const Estimates estimates;
  const Findings findings;
  const std::vector<BreakdownTable> breakdowns;
  const std::vector<CostLine> lines;  ///< keep pointers into `results`
  const std::vector<Front> fronts;
};

}  // namespace assay::report
