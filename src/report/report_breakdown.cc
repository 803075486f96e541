// Tables of parts: where the memory or the time of each configuration goes.
#include <fmt/format.h>

#include <algorithm>

#include "report/breakdown.h"
#include "report/format.h"
#include "report/plain_grid.h"
#include "report/report_sections.h"

namespace assay::report {
namespace {

void WriteBreakdown(Markup& html, const BreakdownTable& table, const ResultSet& results) {
  std::vector<GridColumn> headings;
  std::ranges::transform(table.columns, std::back_inserter(headings), [](const experiment::BreakdownColumn& column) {
    return GridColumn{column.label, column.unit};
  });
  html.Open("section", {{"id", table.breakdown->id}}).Element("h2", table.breakdown->title);
  html.Element("p", table.breakdown->text);
  OpenGrid(html, table.breakdown->title, "configuration", headings);
  size_t rows = 0;
  for (const Configuration& row : results.configurations()) {
    const auto& values = table.values[row.index];
    if (values.empty() || ++rows > kMostRows) {
      continue;
    }
    html.Open("tr").Element("td", results.Label(row, " \u00b7 "), {{"class", "series"}});
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i]) {
        const bool is_difference = !table.columns[i].relative_to.empty();
        WriteNumberCell(html, is_difference ? fmt::format("{:+.1f}", *values[i]) : Readable(*values[i]), *values[i]);
      } else {
        WriteEmptyCell(html);
      }
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
