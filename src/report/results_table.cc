#include "report/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "report/conditions.h"
#include "report/estimate.h"
#include "report/format.h"
#include "report/metric.h"
#include "report/result_set.h"
#include "report/virtual_properties.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

constexpr size_t kMaxValueChars = 36;
constexpr size_t kMaxNoteChars = 72;

std::vector<std::string> CoordinateHeader(const ResultSet& results) {
  std::vector<std::string> header;
  for (const std::string& property : results.varying()) {
    header.push_back(results.declared().Label(property));
  }
  return header;
}

std::vector<std::string> Header(const ResultSet& results, const std::vector<Metric>& metrics, bool with_reason) {
  std::vector<std::string> header = CoordinateHeader(results);
  header.emplace_back("outcome");
  for (const Metric& metric : metrics) {
    header.push_back(metric.Heading());
  }
  if (with_reason) {
    header.emplace_back("reason");
  }
  return header;
}

/// Why a run has no values, or why they are to be doubted.
std::string NoteOn(const Measurement& run) {
  const std::string starved = run.reason.empty() ? ProvenanceOf(run, "starved") : "";
  return Shorten(starved.empty() ? run.reason : "starved: " + starved, kMaxNoteChars);
}

// "613.4 ±12.1": the run's own interval, where it has one.
std::string ValueCell(const Measurement& run, const Metric& metric) {
  Configuration alone;
  alone.runs = {&run};
  const std::optional<Estimate> estimate = EstimateOf(alone, metric);
  if (!estimate) {
    return "-";
  }
  const std::string value = metric.Text(estimate->value);
  return estimate->has_interval() ? fmt::format("{} {}", value, SpreadText(*estimate)) : value;
}

/// The values of a column as they are shown: cut where that leaves them different.
class ColumnTexts {
 public:
  ColumnTexts(const ResultSet& results, const std::string& property) {
    std::set<std::string> distinct;
    for (const space::Value& value : results.ValuesOf(property)) {
      const std::string whole = space::ToString(value);
      distinct.insert(texts_[whole] = EllipsizeMiddle(whole, kMaxValueChars));
    }
    cuts_ = distinct.size() == texts_.size();
  }

  std::string Of(const space::Value& value) const {
    const std::string whole = space::ToString(value);
    return cuts_ ? texts_.at(whole) : whole;
  }

 private:
  std::map<std::string, std::string> texts_;
  bool cuts_ = false;
};

using TextsOfColumns = std::map<std::string, ColumnTexts>;

TextsOfColumns TextsOf(const ResultSet& results) {
  TextsOfColumns texts;
  for (const std::string& property : results.varying()) {
    texts.emplace(property, ColumnTexts(results, property));
  }
  return texts;
}

std::vector<std::string> CoordinateCells(const Configuration& configuration, const ResultSet& results,
                                         const TextsOfColumns& texts) {
  std::vector<std::string> cells;
  for (const std::string& property : results.varying()) {
    const bool present = configuration.coordinates.contains(property);
    cells.push_back(present ? texts.at(property).Of(configuration.At(property)) : "-");
  }
  return cells;
}

std::vector<std::string> Row(const Configuration& configuration, const Measurement& run, const ResultSet& results,
                             const TextsOfColumns& texts, const std::vector<Metric>& metrics) {
  std::vector<std::string> cells = CoordinateCells(configuration, results, texts);
  cells.emplace_back(samplestore::ToString(run.outcome));
  for (const Metric& metric : metrics) {
    cells.push_back(ValueCell(run, metric));
  }
  cells.push_back(NoteOn(run));
  return cells;
}

/// A metric over the runs that count, made one.
std::string AggregateCell(std::span<const Measurement* const> runs, const Metric& metric,
                          const Aggregation& aggregation) {
  std::vector<double> values;
  for (const Measurement* run : runs) {
    if (const std::optional<double> value = metric.ValueOf(*run)) {
      values.push_back(*value);
    }
  }
  return values.empty() ? "-" : metric.Text(aggregation.of(values));
}

std::string NothingText(int64_t planned_points) {
  return planned_points > 0 ? fmt::format("No measurements: 0 of {}.\n", Count(planned_points, "point"))
                            : "No measurements.\n";
}

// "6 of 12 points: 5 valid, 1 invalid, 0 failed; 9 measurements"
std::string Footer(const ResultSet& results, int64_t planned_points) {
  const size_t points = results.CountOfPoints();
  const size_t configurations = results.configurations().size();
  std::string text = planned_points > 0 ? fmt::format("\n{} of {}", points, Count(planned_points, "point"))
                                        : fmt::format("\n{}", Count(points, "point"));
  if (configurations > points) {
    text += fmt::format(", {} with machine and commit", Count(configurations, "configuration"));
  }
  text += fmt::format(": {} valid, {} invalid, {} failed", results.CountOf(Outcome::kValid),
                      results.CountOf(Outcome::kInvalid), results.CountOf(Outcome::kFailed));
  const size_t runs = results.measurements().size();
  return text + (runs > configurations ? fmt::format("; {}\n", Count(runs, "measurement")) : "\n");
}

}  // namespace

std::string ConstantsLine(const ResultSet& results) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : results.constants()) {
    if (name != kMethod || results.varying().empty()) {
      parts.push_back(fmt::format("{} {}", name, value));
    }
  }
  return parts.empty() ? "" : fmt::format("All points: {}\n\n", Join(parts, ", "));
}

std::string RenderResultsTable(std::span<const Measurement> measurements, int64_t planned_points,
                               experiment::Experiments catalogue) {
  if (measurements.empty()) {
    return NothingText(planned_points);
  }
  const ResultSet results(measurements, catalogue);
  const std::vector<Metric> metrics = ResolveMetrics(results);
  const bool with_reason =
      std::any_of(measurements.begin(), measurements.end(), [](const Measurement& m) { return !NoteOn(m).empty(); });
  const TextsOfColumns texts = TextsOf(results);
  TextTable table(Header(results, metrics, with_reason));
  for (const Configuration& configuration : results.configurations()) {
    for (const Measurement* run : configuration.runs) {
      table.AddRow(Row(configuration, *run, results, texts, metrics));
    }
  }
  return ConstantsLine(results) + table.Render() + Footer(results, planned_points);
}

std::string RenderAggregatesTable(std::span<const Measurement> measurements,
                                  std::span<const Aggregation* const> aggregations, int64_t planned_points,
                                  experiment::Experiments catalogue) {
  if (measurements.empty()) {
    return NothingText(planned_points);
  }
  const ResultSet results(measurements, catalogue);
  const std::vector<Metric> metrics = ResolveMetrics(results);
  const TextsOfColumns texts = TextsOf(results);
  std::vector<std::string> header = CoordinateHeader(results);
  header.emplace_back("runs");
  for (const Metric& metric : metrics) {
    for (const Aggregation* aggregation : aggregations) {
      header.push_back(fmt::format("{} {}", metric.Heading(), aggregation->name));
    }
  }
  TextTable table(header);
  for (const Configuration& configuration : results.configurations()) {
    const std::vector<const Measurement*> runs = configuration.CountedRuns();
    std::vector<std::string> cells = CoordinateCells(configuration, results, texts);
    cells.push_back(fmt::format("{}", runs.size()));
    for (const Metric& metric : metrics) {
      for (const Aggregation* aggregation : aggregations) {
        cells.push_back(AggregateCell(runs, metric, *aggregation));
      }
    }
    table.AddRow(cells);
  }
  return ConstantsLine(results) + table.Render() + Footer(results, planned_points);
}

}  // namespace assay::report
