// A chart as a figure of the page, and the table of all kinds of charts.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/metric.h"
#include "report/result_set.h"
#include "report/svg_chart.h"

namespace assay::report {

struct LegendEntry {
  std::string label;
  SeriesStyle style;
};

struct FigurePanel {
  std::string title;  ///< may be empty
  std::string svg;
};

/// Panels stand side by side where there is room. `outcome_marks` adds what hatched and crossed points mean.
struct Figure {
  std::string id;
  std::string title;
  std::string subtitle;
  std::vector<LegendEntry> legend;
  std::vector<FigurePanel> panels;
  std::string note;
  bool outcome_marks = false;
  bool legend_lines = true;    ///< the series are drawn with lines
  bool legend_markers = true;  ///< and with markers

  bool wide() const { return panels.size() > 1; }
};

struct ChartInput {
  const ResultSet& results;
  const std::vector<Metric>& metrics;
};

/// One row of the chart table.
struct ChartKind {
  std::string_view id;
  std::string_view title;  ///< of the kinds that draw over a property, without it
  /// Nothing when the result set has nothing to show that way.
  std::optional<Figure> (*build)(const ChartKind& kind, const ChartInput& input);
  MetricKind metric = MetricKind::kThroughput;        ///< of the kinds that draw one
  experiment::Role x_role = experiment::Role::kNone;  ///< of what the kinds that draw over a property draw over
};

/// All kinds, in the order of the page.
std::span<const ChartKind> ChartKinds();

/// `alone`: no other figure stands beside this narrow one; its legend may then use the rest of the row.
std::string RenderFigure(const Figure& figure, bool alone);

std::optional<Figure> BuildMetricByProperty(const ChartKind& kind, const ChartInput& input);
std::optional<Figure> BuildRanking(const ChartKind& kind, const ChartInput& input);
std::optional<Figure> BuildMemoryPhases(const ChartKind& kind, const ChartInput& input);
std::optional<Figure> BuildStepSpread(const ChartKind& kind, const ChartInput& input);
std::optional<Figure> BuildLossCurves(const ChartKind& kind, const ChartInput& input);
std::optional<Figure> BuildUtilization(const ChartKind& kind, const ChartInput& input);

}  // namespace assay::report
