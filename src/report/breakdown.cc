#include "report/breakdown.h"

#include <algorithm>

#include "report/metric.h"

namespace assay::report {
namespace {

using experiment::Breakdown;
using experiment::BreakdownColumn;
using samplestore::Measurement;

using Runs = std::vector<const Measurement*>;

std::optional<double> ValueOf(const BreakdownColumn& column, const Measurement& run) {
  const std::optional<double> value = NumberOf(run, column.target);
  if (!value || column.relative_to.empty()) {
    return value ? std::optional(*value * column.factor) : std::nullopt;
  }
  const std::optional<double> base = NumberOf(run, column.relative_to);
  return base && *base > 0 ? std::optional(100 * (*value / *base - 1)) : std::nullopt;
}

bool HasRow(const Breakdown& breakdown, const Runs& counted) {
  return std::ranges::any_of(counted,
                             [&](const Measurement* run) { return NumberOf(*run, breakdown.target).has_value(); });
}

std::optional<Estimate> MeanOf(const BreakdownColumn& column, const Runs& counted) {
  std::vector<double> values;
  for (const Measurement* run : counted) {
    if (const std::optional<double> value = ValueOf(column, *run)) {
      values.push_back(*value);
    }
  }
  return values.empty() ? std::nullopt : std::optional(MeanOfRuns(values, RepeatsAtMost(counted)));
}

/// Leaves the columns in which any row has more than zero.
void DropEmptyColumns(BreakdownTable& table) {
  for (size_t i = table.columns.size(); i-- > 0;) {
    const bool has_values =
        std::ranges::any_of(table.rows, [&](const auto& row) { return !row.empty() && row[i] && row[i]->value != 0; });
    if (has_values) {
      continue;
    }
    table.columns.erase(table.columns.begin() + static_cast<ptrdiff_t>(i));
    for (auto& row : table.rows) {
      if (!row.empty()) {
        row.erase(row.begin() + static_cast<ptrdiff_t>(i));
      }
    }
  }
}

BreakdownTable TableOf(const Breakdown& breakdown, const ResultSet& results) {
  BreakdownTable table{.breakdown = &breakdown, .columns = breakdown.columns, .rows = {}};
  for (const Configuration& configuration : results.configurations()) {
    auto& row = table.rows.emplace_back();
    const Runs counted = configuration.CountedRuns();
    if (HasRow(breakdown, counted)) {
      for (const BreakdownColumn& column : breakdown.columns) {
        row.push_back(results.Has(column.target) ? MeanOf(column, counted) : std::nullopt);
      }
    }
  }
  DropEmptyColumns(table);
  return table;
}

}  // namespace

std::optional<Estimate> EstimateOf(const Configuration& configuration, const BreakdownColumn& column) {
  return MeanOf(column, configuration.CountedRuns());
}

std::vector<BreakdownTable> BreakdownsOf(const ResultSet& results) {
  std::vector<BreakdownTable> tables;
  for (const experiment::Experiment* experiment : results.declared().all()) {
    for (const Breakdown& breakdown : experiment->declaration().report.breakdowns) {
      const bool told =
          std::ranges::any_of(tables, [&](const BreakdownTable& table) { return table.breakdown->id == breakdown.id; });
      const bool is_empty = told || !results.Has(breakdown.target);
      BreakdownTable table = is_empty ? BreakdownTable() : TableOf(breakdown, results);
      if (!table.columns.empty()) {
        tables.push_back(std::move(table));
      }
    }
  }
  return tables;
}

}  // namespace assay::report
