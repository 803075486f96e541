#include "report/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "report/estimate.h"
#include "report/format.h"
#include "report/metric.h"
#include "report/result_set.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using samplestore::Outcome;

constexpr size_t kMaxValueChars = 36;
constexpr size_t kMaxReasonChars = 72;

std::string ConstantsLine(const ResultSet& results) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : results.constants()) {
    if (name != kMethod || results.varying().empty()) {
      parts.push_back(fmt::format("{} {}", name, value));
    }
  }
  return parts.empty() ? "" : fmt::format("All points: {}\n\n", Join(parts, ", "));
}

std::vector<std::string> Header(const ResultSet& results, const std::vector<Metric>& metrics, bool with_reason) {
  std::vector<std::string> header;
  for (const std::string& property : results.varying()) {
    header.push_back(PropertyLabel(property));
  }
  header.emplace_back("outcome");
  for (const Metric& metric : metrics) {
    header.push_back(metric.Heading());
  }
  if (with_reason) {
    header.emplace_back("reason");
  }
  return header;
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
  const double half_width = (estimate->high - estimate->low) / 2;
  return estimate->has_interval() ? fmt::format("{} \u00b1{}", value, Readable(half_width)) : value;
}

std::vector<std::string> Row(const Configuration& configuration, const Measurement& run, const ResultSet& results,
                             const std::vector<Metric>& metrics) {
  std::vector<std::string> cells;
  for (const std::string& property : results.varying()) {
    cells.push_back(EllipsizeMiddle(space::ToString(configuration.At(property)), kMaxValueChars));
  }
  cells.emplace_back(samplestore::ToString(run.outcome));
  for (const Metric& metric : metrics) {
    cells.push_back(ValueCell(run, metric));
  }
  cells.push_back(Shorten(run.reason, kMaxReasonChars));
  return cells;
}

std::string Footer(const ResultSet& results) {
  const size_t total = results.configurations().size();
  std::string text =
      fmt::format("\n{}: {} valid, {} invalid, {} failed", Count(total, "point"), results.CountOf(Outcome::kValid),
                  results.CountOf(Outcome::kInvalid), results.CountOf(Outcome::kFailed));
  const size_t runs = results.measurements().size();
  return text + (runs > total ? fmt::format("; {}\n", Count(runs, "measurement")) : "\n");
}

}  // namespace

std::string RenderResultsTable(std::span<const Measurement> measurements) {
  if (measurements.empty()) {
    return "No measurements.\n";
  }
  const ResultSet results(measurements);
  const std::vector<Metric> metrics = ResolveMetrics(results);
  const bool with_reason =
      std::any_of(measurements.begin(), measurements.end(), [](const Measurement& m) { return !m.reason.empty(); });
  TextTable table(Header(results, metrics, with_reason));
  for (const Configuration& configuration : results.configurations()) {
    for (const Measurement* run : configuration.runs) {
      table.AddRow(Row(configuration, *run, results, metrics));
    }
  }
  return ConstantsLine(results) + table.Render() + Footer(results);
}

}  // namespace assay::report
