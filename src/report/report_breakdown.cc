// Tables of parts: where the memory or the time of each configuration goes.
#include <fmt/format.h>

#include <algorithm>

#include "report/breakdown.h"
#include "report/format.h"
#include "report/plain_grid.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

/// Of how many runs the values of a row are: "3", or "1 to 3" where some have not all of them.
std::string RunsOf(const std::vector<std::optional<Estimate>>& row) {
  size_t fewest = 0;
  size_t most = 0;
  for (const std::optional<Estimate>& estimate : row) {
    if (estimate) {
      fewest = fewest == 0 ? estimate->samples : std::min(fewest, estimate->samples);
      most = std::max(most, estimate->samples);
    }
  }
  return fewest == most ? fmt::format("{}", most) : fmt::format("{} to {}", fewest, most);
}

void WriteCell(Markup& html, const std::optional<Estimate>& estimate, bool is_difference) {
  if (!estimate) {
    WriteEmptyCell(html);
    return;
  }
  html.Open("td", {{"class", "n"}});
  html.Text(is_difference ? fmt::format("{:+.1f}", estimate->value) : Readable(estimate->value));
  if (estimate->has_interval()) {
    html.Text(" ").Element("small", SpreadText(*estimate), {{"title", IntervalText(*estimate)}});
  }
  html.Close();
}

void WriteBreakdown(Markup& html, const BreakdownTable& table, const ResultSet& results) {
  std::vector<GridColumn> headings = {{"runs", ""}};
  std::ranges::transform(table.columns, std::back_inserter(headings), [](const experiment::BreakdownColumn& column) {
    return GridColumn{column.label, column.unit};
  });
  html.Open("section", {{"id", table.breakdown->id}}).Element("h2", table.breakdown->title);
  html.Element("p", table.breakdown->text);
  OpenGrid(html, table.breakdown->title, "configuration", headings);
  size_t rows = 0;
  for (const Configuration& configuration : results.configurations()) {
    const auto& row = table.rows[configuration.index];
    if (row.empty() || ++rows > kMostRows) {
      continue;
    }
    html.Open("tr").Element("td", results.Label(configuration, " \u00b7 "), {{"class", "series"}});
    WriteNumberCell(html, RunsOf(row));
    for (size_t i = 0; i < row.size(); ++i) {
      WriteCell(html, row[i], !table.columns[i].relative_to.empty());
    }
    html.Close();
  }
  CloseGrid(html);
  WriteLeftOut(html, rows);
  html.Close();
}

}  // namespace

void WriteBreakdowns(Markup& html, const ReportContent& content) {
  for (const BreakdownTable& table : content.breakdowns) {
    WriteBreakdown(html, table, content.results);
  }
}

}  // namespace assay::report
