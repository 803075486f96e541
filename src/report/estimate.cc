#include "report/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Measurement;

// Known without the series too: tables are made without loading them.
size_t StepCount(const Measurement& run) {
  return static_cast<size_t>(std::max(0.0, NumberOf(run, "training_steps").value_or(0)));
}

std::optional<Estimate> ReportedInterval(const Measurement& run, const Metric& metric, double value) {
  const std::optional<double> low = NumberOf(run, metric.property + "_ci_low");
  const std::optional<double> high = NumberOf(run, metric.property + "_ci_high");
  if (!low || !high || metric.property.empty()) {
    return std::nullopt;
  }
  const double scale = metric.ScaleOf(run);
  return Estimate{value, *low * scale, *high * scale, Basis::kReported, StepCount(run)};
}

std::optional<double> StepRelativeHalfWidth(const Measurement& run) {
  const std::vector<double>& seconds = SeriesOf(run, "step_seconds");
  if (const std::vector<double>& tokens = SeriesOf(run, "step_real_tokens"); tokens.size() == seconds.size()) {
    return RatioRelativeHalfWidth(tokens, seconds);
  }
  const std::optional<double> half_width = MeanHalfWidth(seconds);
  const double mean = MeanOf(seconds);
  return half_width && seconds.size() >= 3 && mean > 0 ? std::optional(*half_width / mean) : std::nullopt;
}

Estimate OneRun(const Measurement& run, const Metric& metric, double value) {
  if (std::optional<Estimate> reported = ReportedInterval(run, metric, value)) {
    return *reported;
  }
  Estimate estimate{value, value, value, Basis::kNone, 1};
  if (metric.kind != MetricKind::kThroughput) {
    return estimate;
  }
  if (const std::optional<double> relative = StepRelativeHalfWidth(run)) {
    estimate.low = std::max(0.0, value * (1 - *relative));
    estimate.high = value * (1 + *relative);
    estimate.basis = Basis::kSteps;
    estimate.samples = SeriesOf(run, "step_seconds").size();
  }
  return estimate;
}

}  // namespace

bool Apart(const Estimate& a, const Estimate& b) {
  return a.has_interval() && b.has_interval() && (a.low > b.high || b.low > a.high);
}

std::optional<Estimate> EstimateOf(const Configuration& configuration, const Metric& metric) {
  std::vector<double> values;
  const Measurement* last = nullptr;
  for (const Measurement* run : configuration.ValidRuns()) {
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
  const double mean = MeanOf(values);
  const double half_width = *MeanHalfWidth(values);
  return Estimate{mean, std::max(0.0, mean - half_width), mean + half_width, Basis::kRuns, values.size()};
}

std::string IntervalText(const Estimate& estimate) {
  const std::string range = fmt::format("95 % interval {} to {}", Readable(estimate.low), Readable(estimate.high));
  switch (estimate.basis) {
    case Basis::kRuns:
      return fmt::format("{} over {}", range, Count(estimate.samples, "run"));
    case Basis::kReported:
    case Basis::kSteps:
      return estimate.samples > 0 ? fmt::format("{}, from the {} of one run", range, Count(estimate.samples, "step"))
                                  : fmt::format("{}, from within one run", range);
    case Basis::kNone:
      break;
  }
  return "one run, no interval";
}

double StudentT975(size_t degrees) {
  constexpr std::array kSmall = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
  if (degrees <= kSmall.size()) {
    return kSmall[std::max<size_t>(degrees, 1) - 1];
  }
  // Cornish-Fisher expansion about the normal quantile (Abramowitz and Stegun, 26.7.5).
  constexpr double z = 1.959964;
  const double n = static_cast<double>(degrees);
  return z + (std::pow(z, 3) + z) / (4 * n) + (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / (96 * n * n) +
         (3 * std::pow(z, 7) + 19 * std::pow(z, 5) + 17 * std::pow(z, 3) - 15 * z) / (384 * n * n * n);
}

double MeanOf(std::span<const double> values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> MeanHalfWidth(std::span<const double> values) {
  if (values.size() < 2) {
    return std::nullopt;
  }
  const double mean = MeanOf(values);
  double squares = 0;
  for (double value : values) {
    squares += (value - mean) * (value - mean);
  }
  const double n = static_cast<double>(values.size());
  return StudentT975(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
}

std::optional<double> RatioRelativeHalfWidth(std::span<const double> amounts, std::span<const double> seconds) {
  const double mean_amount = MeanOf(amounts);
  const double mean_seconds = MeanOf(seconds);
  if (seconds.size() < 3 || amounts.size() != seconds.size() || mean_amount <= 0 || mean_seconds <= 0) {
    return std::nullopt;
  }
  const double ratio = mean_amount / mean_seconds;
  double squares = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const double residual = amounts[i] - ratio * seconds[i];
    squares += residual * residual;
  }
  const double n = static_cast<double>(seconds.size());
  return StudentT975(seconds.size() - 1) * std::sqrt(squares / (n - 1) / n) / mean_amount;
}

double QuantileOfSorted(std::span<const double> sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double MedianOf(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  return QuantileOfSorted(sorted, 0.5);
}

}  // namespace assay::report
