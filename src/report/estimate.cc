#include "report/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "measure/statistics.h"
#include "report/conditions.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

constexpr double kUpperEnd = 0.975;  // of an interval at 95 %

// Known without the series too: tables are made without loading them.
size_t StepCount(const Measurement& run, const Metric& metric) {
  return static_cast<size_t>(std::max(0.0, NumberOf(run, metric.steps).value_or(0)));
}

/// `half_width` is that of the interval before it was cut off at 0.
void AddError(Estimate& estimate, double half_width, double degrees_of_freedom) {
  estimate.degrees_of_freedom = degrees_of_freedom;
  estimate.standard_error = half_width / measure::StudentQuantile(kUpperEnd, degrees_of_freedom);
}

/// Of the batch means of so many steps; where their number is not known, of the fewest that have an interval.
double FreedomOfBatches(size_t steps) {
  const size_t known = std::max<size_t>(steps, measure::kFewestForBatchedInterval);
  return static_cast<double>(std::min<size_t>(measure::kBatches, known / 2)) - 1;
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
  Estimate estimate{value, *low * scale, *high * scale, Basis::kReported, steps};
  AddError(estimate, estimate.high - value, FreedomOfBatches(steps));
  return estimate;
}

Estimate OneRun(const Measurement& run, const Metric& metric, double value) {
  return ReportedInterval(run, metric, value).value_or(Estimate{value, value, value, Basis::kNone, 1});
}

}  // namespace

measure::UncertainMean LogarithmOf(const Estimate& estimate) {
  return {.mean = std::log(estimate.value),
          .standard_error = estimate.standard_error / estimate.value,
          .degrees_of_freedom = estimate.degrees_of_freedom};
}

bool Apart(const Estimate& a, const Estimate& b) {
  return a.has_interval() && b.has_interval() && (a.low > b.high || b.low > a.high);
}

int64_t RepeatsAtMost(std::span<const Measurement* const> runs) {
  int64_t at_most = 0;
  for (const Measurement* run : runs) {
    const std::string& text = ProvenanceOf(*run, "repeats_at_most");
    int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    at_most = std::max(at_most, number);
  }
  return at_most;
}

Estimate MeanOfRuns(std::span<const double> values, int64_t at_most) {
  const measure::MeanEstimate runs = measure::SequentialInterval(values, at_most);
  if (!runs.has_interval()) {
    return {runs.mean, runs.mean, runs.mean, Basis::kNone, values.size()};
  }
  Estimate estimate{runs.mean, runs.interval.low, runs.interval.high, Basis::kRuns, values.size()};
  AddError(estimate, runs.half_width(), static_cast<double>(values.size() - 1));
  return estimate;
}

std::optional<Estimate> EstimateOf(const Configuration& configuration, const Metric& metric) {
  std::vector<double> values;
  const Measurement* last = nullptr;
  const std::vector<const Measurement*> counted = configuration.CountedRuns();
  for (const Measurement* run : counted) {
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
  Estimate estimate = MeanOfRuns(values, RepeatsAtMost(counted));
  if (metric.IsNeverNegative()) {
    estimate.low = std::max(0.0, estimate.low);
  }
  return estimate;
}

std::string SpreadText(const Estimate& estimate) {
  constexpr double kMostLopsided = 0.05;  // of the interval's width
  const double below = estimate.value - estimate.low;
  const double above = estimate.high - estimate.value;
  return std::abs(above - below) <= kMostLopsided * (above + below)
             ? fmt::format("\u00b1{}", Readable(std::max(above, below)))
             : fmt::format("{} to {}", Readable(estimate.low), Readable(estimate.high));
}

std::string SureText(const Estimate& estimate) {
  const bool are_steps = estimate.basis == Basis::kReported && estimate.samples > 0;
  const std::string samples =
      are_steps ? Count(estimate.samples, "step") : fmt::format("n {}", std::max<size_t>(estimate.samples, 1));
  return estimate.has_interval() ? fmt::format("{}, {}", SpreadText(estimate), samples) : samples;
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
