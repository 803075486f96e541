// Tables of parts, as experiments declare them: where the memory or the time of each configuration goes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "report/format.h"
#include "report/plain_grid.h"
#include "report/report_sections.h"

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

/// The mean over the runs that have it.
std::optional<double> ValueOf(const BreakdownColumn& column, const Configuration& configuration) {
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

std::vector<const Configuration*> RowsOf(const Breakdown& breakdown, const ResultSet& results) {
  std::vector<const Configuration*> rows;
  for (const Configuration& configuration : results.configurations()) {
    const auto runs = configuration.CountedRuns();
    if (std::ranges::any_of(runs,
                            [&](const Measurement* run) { return NumberOf(*run, breakdown.target).has_value(); })) {
      rows.push_back(&configuration);
    }
  }
  return rows;
}

/// Those that any row has a value of: without a GPU there is no energy, in one rank no bandwidth.
std::vector<BreakdownColumn> ColumnsOf(const Breakdown& breakdown, const std::vector<const Configuration*>& rows) {
  std::vector<BreakdownColumn> columns;
  std::ranges::copy_if(breakdown.columns, std::back_inserter(columns), [&](const BreakdownColumn& column) {
    return std::ranges::any_of(rows, [&](const Configuration* row) { return ValueOf(column, *row).value_or(0) != 0; });
  });
  return columns;
}

void WriteRow(Markup& html, const ResultSet& results, const Configuration& row,
              const std::vector<BreakdownColumn>& columns) {
  html.Open("tr").Open("td", {{"class", "series"}});
  html.Element("a", results.Label(row, " \u00b7 "), {{"href", fmt::format("#p{}", row.index + 1)}}).Close();
  for (const BreakdownColumn& column : columns) {
    if (const std::optional<double> value = ValueOf(column, row)) {
      WriteNumberCell(html, column.relative_to.empty() ? Readable(*value) : fmt::format("{:+.1f}", *value), *value);
    } else {
      WriteEmptyCell(html);
    }
  }
  html.Close();
}

void WriteBreakdown(Markup& html, const Breakdown& breakdown, const ResultSet& results) {
  const std::vector<const Configuration*> rows = RowsOf(breakdown, results);
  if (rows.empty()) {
    return;
  }
  const std::vector<BreakdownColumn> columns = ColumnsOf(breakdown, rows);
  std::vector<GridColumn> headings;
  std::ranges::transform(columns, std::back_inserter(headings),
                         [](const BreakdownColumn& column) { return GridColumn{column.label, column.unit}; });
  html.Open("section", {{"id", breakdown.id}}).Element("h2", breakdown.title);
  html.Element("p", breakdown.text);
  OpenGrid(html, breakdown.title, "configuration", headings);
  for (const Configuration* row : rows) {
    WriteRow(html, results, *row, columns);
  }
  CloseGrid(html);
  html.Close();
}

}  // namespace

void WriteBreakdowns(Markup& html, const ReportContent& content) {
  for (const experiment::Experiment* experiment : content.results.declared().all()) {
    for (const Breakdown& breakdown : experiment->declaration().report.breakdowns) {
      WriteBreakdown(html, breakdown, content.results);
    }
  }
}

}  // namespace assay::report
