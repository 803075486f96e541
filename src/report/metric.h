// The quantities by which configurations are compared, and where a measurement holds them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/result_set.h"
#include "samplestore/measurement.h"

namespace assay::report {

/// What experiments declare their targets to be. Those of kOther are shown when a result has nothing else.
using MetricKind = experiment::Quantity;

/// A quantity as one result set has it: every measurement is asked for the same property, so that two definitions of
/// throughput never stand in one column.
struct Metric {
  MetricKind kind;
  std::string title;        ///< "Throughput"
  std::string short_title;  ///< of a narrow column: "tensor"
  std::string property;     ///< target property it is read from; empty when it is computed from a series
  std::string unit;         ///< of the values given out, for people: "real tokens/s", "GiB"
  std::string steps = {};   ///< target property that counts the steps that a value is of; empty: none does

  /// In `unit`; nothing when the measurement has no such finite number.
  std::optional<double> ValueOf(const samplestore::Measurement& measurement) const;
  /// Title and unit of a column of plain text: "real tokens/s", "tensor GiB".
  std::string Heading() const;
  /// A value as it stands in a table: three digits, unknown targets as they are.
  std::string Text(double value) const;
  /// No value can lie below 0.
  bool IsNeverNegative() const;
  /// The factor that turns the numbers of `property`, or of one that shares its unit, into `unit`.
  double ScaleOf(const samplestore::Measurement& measurement) const;
};

/// The metrics that at least one valid measurement has, in the order in which people want to see them.
std::vector<Metric> ResolveMetrics(const ResultSet& results);

/// The metric of that kind, or nullptr. The pointer is into `metrics`.
const Metric* FindMetric(const std::vector<Metric>& metrics, MetricKind kind);

/// A target property as a finite number; Booleans count as 0 and 1.
std::optional<double> NumberOf(const samplestore::Measurement& measurement, const std::string& property);

/// The first of these targets that the measurement has.
std::optional<double> NumberOf(std::span<const experiment::TargetSpec* const> targets,
                               const samplestore::Measurement& measurement);

/// Leaves of the series the single numbers that metrics may be computed from: the rest is for who looks at one run.
void CondenseSeries(samplestore::Measurement& measurement);

/// A series by name; empty when there is none.
const std::vector<double>& SeriesOf(const samplestore::Measurement& measurement, std::string_view name);

}  // namespace assay::report
