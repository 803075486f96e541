// How sure a measured value is: confidence intervals, and what each rests on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

/// What an interval rests on, strongest first.
enum class Basis {
  kRuns,      ///< repeated runs of the same configuration: holds for the next run too
  kReported,  ///< the run's own interval, kept with its properties
  kSteps,     ///< the spread of the steps of one run: says nothing about the next run
  kNone,      ///< one number, no spread
};

/// A value with its 95 % confidence interval, in the metric's unit. Without one, low and high are the value.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  Basis basis = Basis::kNone;
  size_t samples = 1;  ///< runs or steps behind the interval; 0 when not known

  bool has_interval() const { return basis != Basis::kNone; }
};

/// The two intervals exist and share no point.
bool Apart(const Estimate& a, const Estimate& b);

/// The valid runs' mean of `metric`; nothing when no valid run has it. Throughput and step time get an interval from
/// the steps when there is one run only.
std::optional<Estimate> EstimateOf(const Configuration& configuration, const Metric& metric);

/// "95 % interval 1,201 to 1,267 over 3 runs"; "one run, no interval".
std::string IntervalText(const Estimate& estimate);

/// The 0.975 quantile of Student's t distribution with `degrees` >= 1 of freedom, to three digits.
double StudentT975(size_t degrees);

/// Half-width of the 95 % interval of the mean; nothing for fewer than two values.
std::optional<double> MeanHalfWidth(std::span<const double> values);

/// Half-width of the 95 % interval of sum(amounts) / sum(seconds), relative to that ratio: the ratio estimator's
/// linearised variance (Cochran, Sampling Techniques, 1977, section 6.3), so that a step that took long because it had
/// many tokens does not count as noise. Nothing for fewer than three steps.
std::optional<double> RatioRelativeHalfWidth(std::span<const double> amounts, std::span<const double> seconds);

double MeanOf(std::span<const double> values);
/// Of at least one value.
double MedianOf(const std::vector<double>& values);
/// Linear interpolation between order statistics of `sorted`, which is not empty; `fraction` in [0, 1].
double QuantileOfSorted(std::span<const double> sorted, double fraction);

}  // namespace assay::report
