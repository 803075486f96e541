// A metric over a property: a line a series, a marker a configuration, whiskers for its interval.
#include <fmt/format.h>

#include <algorithm>

#include "report/charts/arrange.h"
#include "report/charts/figure.h"
#include "report/estimate.h"
#include "report/format.h"

namespace assay::report {
namespace {

using samplestore::Outcome;

constexpr double kHeight = 264;
constexpr double kLeft = 52;
constexpr double kTop = 30;
constexpr double kBottom = kHeight - 44;
constexpr size_t kTicks = 5;
constexpr double kDodge = 12;       // between series at one category, so that their whiskers do not cover each other
constexpr double kLabelChar = 7.3;  // width of a character of a label
constexpr size_t kMaxDirectLabels = 4;
constexpr size_t kMaxDirectLabelChars = 14;

// What all panels of one figure share.
struct Plot {
  const ChartInput& input;
  const Metric& metric;
  std::string x_property;
  std::vector<space::Value> categories;
  bool direct_labels = false;
  PlotArea area;
  double high = 1;

  double X(const Configuration& configuration, size_t series, size_t series_count) const {
    const auto at = std::lower_bound(categories.begin(), categories.end(), configuration.At(x_property), &ValueLess);
    const double band = (area.right - area.left) / static_cast<double>(categories.size());
    const double step = std::min(kDodge, band * 0.7 / static_cast<double>(series_count));
    const double offset = (static_cast<double>(series) - static_cast<double>(series_count - 1) / 2) * step;
    return CategoryCenter(area, static_cast<size_t>(at - categories.begin()), categories.size()) + offset;
  }
  LinearScale Y() const { return {0, high, area.bottom, area.top}; }
};

struct LineEnd {
  std::string label;
  SeriesStyle style;
  double x = 0;
  double y = 0;
};

// Few steps make intervals that dwarf the values; the axis follows the values, and such whiskers are cut.
double HighestToShow(const ChartInput& input, const Metric& metric) {
  double value = 0;
  double high = 0;
  for (const Configuration& configuration : input.results.configurations()) {
    if (const std::optional<Estimate> estimate = EstimateOf(configuration, metric)) {
      value = std::max(value, estimate->value);
      high = std::max(high, estimate->high);
    }
  }
  return std::min(high, 1.4 * value);
}

std::string Tip(const Plot& plot, const Configuration& configuration, const std::optional<Estimate>& estimate) {
  const std::string label = plot.input.results.Label(configuration);
  if (!estimate) {
    return fmt::format("{}\n{}: {}", label, samplestore::ToString(configuration.outcome), configuration.reason());
  }
  return fmt::format("{}\n{} {}\n{}", label, Readable(estimate->value), plot.metric.unit, IntervalText(*estimate));
}

void DrawPoint(Markup& svg, const Plot& plot, const Configuration& configuration, const SeriesStyle& style, double x) {
  const std::optional<Estimate> estimate = EstimateOf(configuration, plot.metric);
  if (!estimate && configuration.outcome == Outcome::kValid) {
    return;
  }
  OpenPoint(svg, configuration.index, Tip(plot, configuration, estimate));
  if (estimate) {
    const LinearScale y = plot.Y();
    if (estimate->has_interval()) {
      // Past the top of the area for the part that is cut.
      const double y_high = estimate->high > plot.high ? plot.area.top - 1 : y(estimate->high);
      DrawWhisker(svg, plot.area, x, y(estimate->low), y_high);
    }
    DrawMarker(svg, style.line, x, y(estimate->value));
  } else {
    DrawOutcomeMark(svg, configuration.outcome, x, plot.area.bottom - 7);
  }
  svg.Close();
}

// Lines join neighbouring categories that were both measured: a gap stays a gap.
std::vector<std::vector<std::pair<double, double>>> Segments(const Plot& plot, const Series& series, size_t index,
                                                             size_t count) {
  std::vector<std::vector<std::pair<double, double>>> segments(1);
  const LinearScale y = plot.Y();
  for (const space::Value& category : plot.categories) {
    const auto found = std::find_if(series.points.begin(), series.points.end(),
                                    [&](const Configuration* point) { return point->At(plot.x_property) == category; });
    const std::optional<Estimate> estimate =
        found == series.points.end() ? std::nullopt : EstimateOf(**found, plot.metric);
    if (estimate) {
      segments.back().emplace_back(plot.X(**found, index, count), y(estimate->value));
    } else if (!segments.back().empty()) {
      segments.emplace_back();
    }
  }
  if (segments.back().empty()) {
    segments.pop_back();
  }
  return segments;
}

void DrawSeries(Markup& svg, const Plot& plot, const Series& series, size_t index, size_t count,
                std::vector<LineEnd>& ends) {
  svg.Open("g", {{"class", series.style.Classes()}});
  const auto segments = Segments(plot, series, index, count);
  for (const auto& segment : segments) {
    if (segment.size() > 1) {
      svg.Empty("path", {{"class", "line"}, {"d", PathThrough(segment)}});
    }
  }
  for (const Configuration* point : series.points) {
    DrawPoint(svg, plot, *point, series.style, plot.X(*point, index, count));
  }
  svg.Close();
  if (!segments.empty()) {
    ends.push_back({series.short_label, series.style, segments.back().back().first, segments.back().back().second});
  }
}

void DrawLabel(Markup& svg, const LineEnd& end, double x, double y) {
  svg.Open("g", {{"class", end.style.Classes()}});
  DrawText(svg, x, y + 4, end.label, "start", "label");
  svg.Close();
}

// Series that reach the last category are named in the right margin, others where they end.
void DrawDirectLabels(Markup& svg, const Plot& plot, const std::vector<LineEnd>& ends) {
  const double last_band =
      plot.area.right - (plot.area.right - plot.area.left) / static_cast<double>(plot.categories.size());
  std::vector<LineEnd> in_margin;
  std::vector<double> heights;
  for (const LineEnd& end : ends) {
    if (end.x > last_band) {
      in_margin.push_back(end);
      heights.push_back(end.y);
    } else {
      DrawLabel(svg, end, end.x + 9, end.y);
    }
  }
  heights = SpreadOut(heights, 14, plot.area.top, plot.area.bottom);
  for (size_t i = 0; i < in_margin.size(); ++i) {
    DrawLabel(svg, in_margin[i], plot.area.right + 8, heights[i]);
  }
}

std::string DrawPanel(const Plot& plot, const Panel& panel, std::string_view title) {
  Markup svg = OpenChart(kHeight, panel.title.empty() ? std::string(title) : fmt::format("{}, {}", title, panel.title));
  DrawValueAxis(svg, plot.area, plot.Y(), NiceTicks(0, plot.high, kTicks), plot.metric.unit);
  std::vector<std::string> labels;
  for (const space::Value& category : plot.categories) {
    labels.push_back(EllipsizeMiddle(space::ToString(category), 16));
  }
  DrawCategoryAxis(svg, plot.area, labels, plot.input.results.declared().Label(plot.x_property));
  std::vector<LineEnd> ends;
  for (size_t i = 0; i < panel.series.size(); ++i) {
    DrawSeries(svg, plot, panel.series[i], i, panel.series.size(), ends);
  }
  if (plot.direct_labels) {
    DrawDirectLabels(svg, plot, ends);
  }
  return std::move(svg).Finish();
}

size_t LongestShortLabel(const Arrangement& arrangement) {
  size_t longest = 0;
  for (const Panel& panel : arrangement.panels) {
    for (const Series& series : panel.series) {
      longest = std::max(longest, CountChars(series.short_label));
    }
  }
  return longest;
}

Plot MakePlot(const ChartInput& input, const Metric& metric, std::string_view x_property,
              const Arrangement& arrangement) {
  Plot plot{input, metric, std::string(x_property), input.results.ValuesOf(x_property), false, {}, 1};
  const size_t longest = LongestShortLabel(arrangement);
  const size_t series = arrangement.panels.front().series.size();
  plot.direct_labels =
      arrangement.panels.size() == 1 && series > 1 && series <= kMaxDirectLabels && longest <= kMaxDirectLabelChars;
  const double label_width = plot.direct_labels ? static_cast<double>(longest) * kLabelChar + 8 : 6;
  plot.area = {kLeft, kTop, kChartWidth - label_width, kBottom};
  plot.high = NiceRange(0, HighestToShow(input, metric), kTicks).second;
  return plot;
}

}  // namespace

std::optional<Figure> BuildMetricByProperty(const ChartKind& kind, const ChartInput& input) {
  const Metric* metric = FindMetric(input.metrics, kind.metric);
  const std::string x_property = input.results.VaryingWith(kind.x_role);
  if (metric == nullptr || x_property.empty()) {
    return std::nullopt;
  }
  const Arrangement arrangement = Arrange(input.results, x_property);
  const Plot plot = MakePlot(input, *metric, x_property, arrangement);
  const std::string title = fmt::format("{} by {}", kind.title, input.results.declared().Label(x_property));
  Figure figure{std::string(kind.id), title, LinesText(input.results, arrangement), {}, {}, "", false};
  for (const Panel& panel : arrangement.panels) {
    figure.panels.push_back({panel.title, DrawPanel(plot, panel, title)});
  }
  if (!plot.direct_labels) {
    figure.legend = LegendOf(input.results, arrangement);
  }
  figure.outcome_marks = input.results.CountOf(Outcome::kValid) < input.results.configurations().size();
  return figure;
}

}  // namespace assay::report
