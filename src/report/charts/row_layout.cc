#include "report/charts/row_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/format.h"

namespace assay::report {
namespace {

constexpr size_t kMaxRowsInPanel = 9;
constexpr double kRowHeight = 36;
constexpr double kLabelHeight = 13;  // of the name above a row's values
constexpr double kRowsTop = 4;
constexpr double kAxisHeight = 42;
constexpr size_t kMaxLabelChars = 58;
constexpr size_t kRowsTicks = 5;

std::string DrawPanel(const ChartKind& kind, const RowLayout& layout, const ResultSet& results,
                      std::span<const ChartRow> rows) {
  const double bottom = kRowsTop + kRowHeight * static_cast<double>(rows.size());
  const PlotArea area{14, kRowsTop, kChartWidth - 16, bottom};
  const double high = NiceRange(0, layout.high, kRowsTicks).second;
  const LinearScale x(0, high, area.left, area.right);
  Markup svg = OpenChart(bottom + kAxisHeight, kind.title);
  DrawNumberAxis(svg, area, x, {NiceTicks(0, high, kRowsTicks), layout.axis_title, true});
  for (size_t i = 0; i < rows.size(); ++i) {
    const double top = kRowsTop + kRowHeight * static_cast<double>(i);
    svg.Open("g", {{"class", SeriesStyle{rows[i].color, 0}.Classes()}});
    DrawText(svg, area.left + 3, top + kLabelHeight - 1,
             EllipsizeMiddle(results.Label(*rows[i].configuration, " \u00b7 "), kMaxLabelChars), "start", "row");
    layout.draw(svg, rows[i], area, x, top + kLabelHeight + (kRowHeight - kLabelHeight) / 2);
    svg.Close();
  }
  return std::move(svg).Finish();
}

}  // namespace

Figure DrawRows(const ChartKind& kind, const RowLayout& layout, const ResultSet& results, std::vector<ChartRow> rows) {
  Figure figure;
  figure.id = kind.id;
  figure.title = kind.title;
  const size_t shown = std::min(rows.size(), kMaxRows);
  figure.note = LeftOutNote(shown, rows.size(), "configuration");
  const size_t panels = (shown + kMaxRowsInPanel - 1) / kMaxRowsInPanel;
  for (size_t panel = 0; panel < panels; ++panel) {
    const size_t begin = shown * panel / panels;
    const size_t end = shown * (panel + 1) / panels;
    figure.panels.push_back({"", DrawPanel(kind, layout, results, std::span(rows).subspan(begin, end - begin))});
  }
  return figure;
}

std::string LeftOutNote(size_t shown, size_t total, std::string_view noun) {
  return total > shown ? fmt::format("The first {} of {}; all are in the table.", shown, Count(total, noun)) : "";
}

}  // namespace assay::report
