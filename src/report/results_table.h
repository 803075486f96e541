// Measurements as a table for people, as CSV and as JSON.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "report/result_set.h"
#include "report/virtual_properties.h"
#include "samplestore/measurement.h"

namespace assay::report {

/// One row a measurement: what varies, machine and commit where they do, the outcome, the main targets with their units
/// and interval, the reason of what is not valid (shortened). What all points share stands once, above, and whether the
/// weights were random and which tokeniser was used. `planned_points` of the space are told with how many were
/// measured; 0: not known. Ends in a newline; says so when there is nothing.
std::string RenderResultsTable(std::span<const samplestore::Measurement> measurements, int64_t planned_points = 0,
                               experiment::Experiments catalogue = experiment::AllExperiments());

/// One row a configuration: what varies, how many runs count, and each metric of RenderResultsTable made one by each
/// aggregation. The rest is as there.
std::string RenderAggregatesTable(std::span<const samplestore::Measurement> measurements,
                                  std::span<const Aggregation* const> aggregations, int64_t planned_points = 0,
                                  experiment::Experiments catalogue = experiment::AllExperiments());

/// "All points: ...": what they share, and an empty line; empty where nothing is shared.
std::string ConstantsLine(const ResultSet& results);

/// Measurements as CSV, one after the other, in two passes: AddColumns() of each, Header(), then Line() of each. RFC
/// 4180, with a header and CRLF line ends. The columns are the union over all measurements, in an order that does not
/// depend on the rows: identity, constitutive properties, target properties, provenance.*, each group sorted. A target
/// that bears the name of a constitutive property is called measured.NAME. Numbers are exact (shortest form that reads
/// back the same); None and absent are empty.
class ResultsCsv {
 public:
  void AddColumns(const samplestore::Measurement& measurement);
  std::string Header() const;
  std::string Line(const samplestore::Measurement& measurement) const;

 private:
  std::set<std::string> entity_;
  std::set<std::string> targets_;
  std::set<std::string> provenance_;
};

/// A list of the objects that `assay run --output json` prints, indented, one after the other.
class ResultsJson {
 public:
  /// Appends what stands before the object, and it.
  void Add(const samplestore::Measurement& measurement, std::string& json);
  std::string End() const;

 private:
  bool is_empty_ = true;
};

/// All of them at once.
std::string RenderResultsCsv(std::span<const samplestore::Measurement> measurements);
std::string RenderResultsJson(std::span<const samplestore::Measurement> measurements);

}  // namespace assay::report
