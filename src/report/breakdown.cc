#include "report/breakdown.h"

#include <algorithm>

#include "report/metric.h"

namespace assay::report {
namespace {

using experiment::Breakdown;
using experiment::BreakdownColumn;
using samplestore::Measurement;

std::optional<double> ValueOf(const BreakdownColumn& column, const Measurement& run) {
  const std::optional<double> value = NumberOf(run, column.target);
  if (!value || column.relative_to.empty()) {
    return value ? std::optional(*value * column.factor) : std::nullopt;
  }
  const std::optional<double> base = NumberOf(run, column.relative_to);
  return base && *base > 0 ? std::optional(100 * (*value / *base - 1)) : std::nullopt;
}

bool HasRow(const Breakdown& breakdown, const Configuration& configuration) {
  return std::ranges::any_of(configuration.CountedRuns(),
                             [&](const Measurement* run) { return NumberOf(*run, breakdown.target).has_value(); });
}

/// Leaves the columns in which any row has more than zero.
void DropEmptyColumns(BreakdownTable& table) {
  for (size_t i = table.columns.size(); i-- > 0;) {
    const bool has_values =
        std::ranges::any_of(table.values, [&](const auto& row) { return !row.empty() && row[i].value_or(0) != 0; });
    if (has_values) {
      continue;
    }
    table.columns.erase(table.columns.begin() + static_cast<ptrdiff_t>(i));
    for (auto& row : table.values) {
      if (!row.empty()) {
        row.erase(row.begin() + static_cast<ptrdiff_t>(i));
      }
    }
  }
}

BreakdownTable TableOf(const Breakdown& breakdown, const ResultSet& results) {
  BreakdownTable table{.breakdown = &breakdown, .columns = breakdown.columns, .values = {}};
  for (const Configuration& configuration : results.configurations()) {
    auto& row = table.values.emplace_back();
    if (HasRow(breakdown, configuration)) {
      for (const BreakdownColumn& column : breakdown.columns) {
        row.push_back(BreakdownValue(column, configuration));
      }
    }
  }
  DropEmptyColumns(table);
  return table;
}

}  // namespace

std::optional<double> BreakdownValue(const BreakdownColumn& column, const Configuration& configuration) {
  double sum = 0;
  double count = 0;
  for (const Measurement* run : configuration.CountedRuns()) {
    if (const std::optional<double> value = ValueOf(column, *run)) {
      sum += *value;
      count += 1;
    }
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::vector<BreakdownTable> BreakdownsOf(const ResultSet& results) {
  std::vector<BreakdownTable> tables;
  for (const experiment::Experiment* experiment : results.declared().all()) {
    for (const Breakdown& breakdown : experiment->declaration().report.breakdowns) {
      const bool told =
          std::ranges::any_of(tables, [&](const BreakdownTable& table) { return table.breakdown->id == breakdown.id; });
      BreakdownTable table = told ? BreakdownTable() : TableOf(breakdown, results);
      if (!table.columns.empty()) {
        tables.push_back(std::move(table));
      }
    }
  }
  return tables;
}

}  // namespace assay::report
