// How sure a measured value is: confidence intervals, and what each rests on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "measure/significance.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {

/// What an interval rests on, strongest first.
enum class Basis {
  kRuns,      ///< repeated runs of the same configuration: holds for the next run too
  kReported,  ///< the run's own interval, from the spread of its steps: says nothing about the next run
  kNone,      ///< too few to tell
};

/// A value with its 95 % confidence interval, in the metric's unit. Without one, low and high are the value.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  Basis basis = Basis::kNone;
  size_t samples = 1;             ///< runs behind the value, or steps behind the run's own interval; 0 when not known
  double standard_error = 0;      ///< of the value; 0 without an interval
  double degrees_of_freedom = 0;  ///< of Student's t that the interval was made with

  bool has_interval() const { return basis != Basis::kNone; }
};

/// The logarithm of a positive value that has an interval, for tests of ratios.
measure::UncertainMean LogarithmOf(const Estimate& estimate);

/// The two intervals exist and share no point.
bool Apart(const Estimate& a, const Estimate& b);

/// How many runs there might have been, where repeats could end early by what they showed; 0 where none could.
int64_t RepeatsAtMost(std::span<const samplestore::Measurement* const> runs);

/// The mean of values of so many runs, at least one, with Student's interval from three on; of runs that could end
/// early it is as wide as the looks at it make it (measure::SequentialInterval).
Estimate MeanOfRuns(std::span<const double> values, int64_t at_most);

/// The mean of `metric` over the runs that count (Configuration::CountedRuns), with the interval of MeanOfRuns() from
/// three on; of one run its own interval, where it has one that stands on steps enough (measure/statistics.h). Nothing
/// when none has the metric.
std::optional<Estimate> EstimateOf(const Configuration& configuration, const Metric& metric);

/// Of an estimate with an interval, in the space of a cell: "±12.4", or "0 to 8.00" of one that reaches farther to one
/// side, since it ends where nothing can lie beyond.
std::string SpreadText(const Estimate& estimate);

/// How sure a value is, in the space of a cell: "±12.4, n 3", "±12.4, 24 steps" of one run's own interval, "n 1".
std::string SureText(const Estimate& estimate);

/// "95 % interval 1,201 to 1,267 over 3 runs"; "one run, no interval".
std::string IntervalText(const Estimate& estimate);

}  // namespace assay::report
