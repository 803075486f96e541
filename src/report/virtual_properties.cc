#include "report/virtual_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "measure/statistics.h"
#include "report/metric.h"

namespace assay::report {
namespace {

using samplestore::Measurement;
using Values = std::span<const double>;

double Variance(Values values) {
  measure::RunningMoments moments;
  std::ranges::for_each(values, [&](double value) { moments.Add(value); });
  const auto count = static_cast<double>(values.size());
  return moments.variance() * (count - 1) / count;
}

constexpr Aggregation kAggregations[] = {
    {"mean", [](Values values) { return measure::Mean(values); }},
    {"median", [](Values values) { return measure::Median(values); }},
    {"std", [](Values values) { return std::sqrt(Variance(values)); }},
    {"variance", &Variance},
    {"min", [](Values values) { return *std::ranges::min_element(values); }},
    {"max", [](Values values) { return *std::ranges::max_element(values); }},
};

/// The numbers of each target, of the runs that have it. That a run is valid is none, however it is written.
std::map<std::string, std::vector<double>> NumbersOf(std::span<const Measurement* const> runs) {
  std::map<std::string, std::vector<double>> numbers;
  for (const Measurement* run : runs) {
    for (const auto& [target, value] : run->properties) {
      const std::optional<double> number = NumberOf(*run, target);
      if (number && !std::holds_alternative<bool>(value) && target != "is_valid") {
        numbers[target].push_back(*number);
      }
    }
  }
  return numbers;
}

Measurement AggregatedRuns(const std::vector<const Measurement*>& runs,
                           std::span<const Aggregation* const> aggregations) {
  Measurement measurement = *runs.back();
  const std::map<std::string, std::string> units = std::move(measurement.units);
  measurement.properties = {{"runs", std::ssize(runs)}};
  measurement.units.clear();
  measurement.series.clear();
  for (const auto& [target, values] : NumbersOf(runs)) {
    for (const Aggregation* aggregation : aggregations) {
      const std::string name = VirtualPropertyName(target, *aggregation);
      measurement.properties[name] = aggregation->of(values);
      if (const auto unit = units.find(target); unit != units.end() && !unit->second.empty()) {
        measurement.units[name] = aggregation->of == &Variance ? fmt::format("({})^2", unit->second) : unit->second;
      }
    }
  }
  return measurement;
}

}  // namespace

std::span<const Aggregation> Aggregations() {
  return kAggregations;
}

std::vector<const Aggregation*> AggregationsOf(std::span<const std::string> names) {
  std::vector<const Aggregation*> rows;
  for (const std::string& name : names) {
    rows.push_back(std::ranges::find_if(kAggregations, [&](const Aggregation& row) { return row.name == name; }));
  }
  return rows;
}

std::optional<VirtualProperty> ParseVirtualProperty(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  const std::string method = name.substr(dash + 1);
  const auto* row = std::ranges::find_if(kAggregations, [&](const Aggregation& each) { return each.name == method; });
  return row == std::end(kAggregations) ? std::nullopt : std::optional(VirtualProperty{name.substr(0, dash), row});
}

std::string VirtualPropertyName(const std::string& target, const Aggregation& aggregation) {
  return fmt::format("{}-{}", target, aggregation.name);
}

std::vector<Measurement> Aggregated(const ResultSet& results, std::span<const Aggregation* const> aggregations) {
  std::vector<Measurement> measurements;
  for (const Configuration& configuration : results.configurations()) {
    const std::vector<const Measurement*> runs = configuration.CountedRuns();
    if (!runs.empty()) {
      measurements.push_back(AggregatedRuns(runs, aggregations));
    } else if (!configuration.runs.empty()) {
      measurements.push_back(*configuration.runs.back());
      measurements.back().series.clear();
    }
  }
  return measurements;
}

}  // namespace assay::report
