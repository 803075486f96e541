#include "report/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "measure/statistics.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

// Known without the series too: tables are made without loading them.
size_t StepCount(const Measurement& run, const Metric& metric) {
  return static_cast<size_t>(std::max(0.0, NumberOf(run, metric.steps).value_or(0)));
}

std::optional<Estimate> ReportedInterval(const Measurement& run, const Metric& metric, double value) {
  const std::optional<double> low = NumberOf(run, metric.property + "_ci_low");
  const std::optional<double> high = NumberOf(run, metric.property + "_ci_high");
  const size_t steps = StepCount(run, metric);
  const bool too_few = steps > 0 && steps < measure::kFewestForBatchedInterval;
  if (!low || !high || metric.property.empty() || too_few) {
    return std::nullopt;
  }
  const double scale = metric.ScaleOf(run);
  return Estimate{value, *low * scale, *high * scale, Basis::kReported, steps};
}

Estimate OneRun(const Measurement& run, const Metric& metric, double value) {
  return ReportedInterval(run, metric, value).value_or(Estimate{value, value, value, Basis::kNone, 1});
}

}  // namespace

bool Apart(const Estimate& a, const Estimate& b) {
  return a.has_interval() && b.has_interval() && (a.low > b.high || b.low > a.high);
}

std::optional<Estimate> EstimateOf(const Configuration& configuration, const Metric& metric) {
  std::vector<double> values;
  const Measurement* last = nullptr;
  for (const Measurement* run : configuration.CountedRuns()) {
    if (const std::optional<double> value = metric.ValueOf(*run)) {
      values.push_back(*value);
      last = run;
    }
  }
  if (values.empty()) {
    return std::nullopt;
  }
  if (values.size() == 1) {
    return OneRun(*last, metric, values.front());
  }
  const measure::MeanEstimate runs = measure::MeanInterval(values);
  if (!runs.has_interval()) {
    return Estimate{runs.mean, runs.mean, runs.mean, Basis::kNone, values.size()};
  }
  return Estimate{runs.mean, std::max(0.0, runs.interval.low), runs.interval.high, Basis::kRuns, values.size()};
}

std::string IntervalText(const Estimate& estimate) {
  const std::string range = fmt::format("95 % interval {} to {}", Readable(estimate.low), Readable(estimate.high));
  switch (estimate.basis) {
    case Basis::kRuns:
      return fmt::format("{} over {}", range, Count(estimate.samples, "run"));
    case Basis::kReported:
      return estimate.samples > 0 ? fmt::format("{}, from the {} of one run", range, Count(estimate.samples, "step"))
                                  : fmt::format("{}, from within one run", range);
    case Basis::kNone:
      break;
  }
  return estimate.samples > 1 ? fmt::format("mean of {}, no interval below {}", Count(estimate.samples, "run"),
                                            measure::kFewestForInterval)
                              : "one run, no interval";
}

}  // namespace assay::report
