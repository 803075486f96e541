#include "report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/format.h"

namespace assay::report {
namespace {

constexpr double kMarkerRadius = 4.2;
constexpr double kCapHalfWidth = 3.5;
constexpr double kCharWidth = 6.6;  // of a tick label, on average and rounded up

std::string PolygonPath(std::initializer_list<std::pair<double, double>> corners) {
  return PathThrough(std::vector<std::pair<double, double>>(corners)) + "Z";
}

}  // namespace

std::string SeriesStyle::Classes() const {
  const std::string color_class = color < 0 ? "plain" : fmt::format("c{}", color % kColors);
  return fmt::format("{} l{}", color_class, line % kLineStyles);
}

Markup OpenChart(double height, std::string_view accessible_name) {
  Markup svg;
  svg.Open("svg", {{"viewBox", fmt::format("0 0 {} {}", Coordinate(kChartWidth), Coordinate(height))},
                   {"role", "img"},
                   {"aria-label", std::string(accessible_name)}});
  return svg;
}

std::string Coordinate(double value) {
  const double rounded = std::round(value * 10) / 10;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

std::string PathThrough(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  for (const auto& [x, y] : points) {
    path += fmt::format("{}{},{}", path.empty() ? "M" : "L", Coordinate(x), Coordinate(y));
  }
  return path;
}

void DrawLine(Markup& svg, double x1, double y1, double x2, double y2, std::string_view css_class) {
  svg.Empty("path", {{"class", std::string(css_class)}, {"d", PathThrough({{x1, y1}, {x2, y2}})}});
}

void DrawText(Markup& svg, double x, double y, std::string_view text, std::string_view anchor,
              std::string_view css_class) {
  svg.Element("text", text,
              {{"x", Coordinate(x)},
               {"y", Coordinate(y)},
               {"text-anchor", anchor == "start" ? "" : std::string(anchor)},
               {"class", std::string(css_class)}});
}

void DrawValueAxis(Markup& svg, const PlotArea& area, const LinearScale& y, const std::vector<double>& ticks,
                   std::string_view unit) {
  const std::vector<std::string> labels = TickLabels(ticks);
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double at = y(ticks[i]);
    DrawLine(svg, area.left, at, area.right, at, ticks[i] == 0 ? "base" : "grid");
    DrawText(svg, area.left - 6, at + 4, labels[i], "end", "tick");
  }
  DrawText(svg, 2, area.top - 12, unit, "start", "unit");
}

void DrawNumberAxis(Markup& svg, const PlotArea& area, const LinearScale& x, const NumberAxis& axis) {
  const std::vector<std::string> labels = TickLabels(axis.ticks);
  for (size_t i = 0; i < axis.ticks.size(); ++i) {
    const double at = x(axis.ticks[i]);
    if (axis.grid) {
      DrawLine(svg, at, area.top, at, area.bottom, axis.ticks[i] == 0 ? "base" : "grid");
    } else {
      DrawLine(svg, at, area.bottom, at, area.bottom + 4, "base");
    }
    DrawText(svg, at, area.bottom + 16, labels[i], "middle", "tick");
  }
  DrawText(svg, (area.left + area.right) / 2, area.bottom + 33, axis.title, "middle", "unit");
}

void DrawCategoryAxis(Markup& svg, const PlotArea& area, const std::vector<std::string>& labels,
                      std::string_view title) {
  size_t longest = 1;
  for (const std::string& label : labels) {
    longest = std::max(longest, CountChars(label));
  }
  const double width = (area.right - area.left) / static_cast<double>(std::max<size_t>(labels.size(), 1));
  const auto every = static_cast<size_t>(std::ceil(static_cast<double>(longest + 1) * kCharWidth / width));
  for (size_t i = 0; i < labels.size(); i += std::max<size_t>(every, 1)) {
    DrawText(svg, CategoryCenter(area, i, labels.size()), area.bottom + 16, labels[i], "middle", "tick");
  }
  DrawText(svg, (area.left + area.right) / 2, area.bottom + 33, title, "middle", "unit");
}

double CategoryCenter(const PlotArea& area, size_t index, size_t count) {
  return area.left + (static_cast<double>(index) + 0.5) * (area.right - area.left) / static_cast<double>(count);
}

void DrawMarker(Markup& svg, int line_style, double x, double y) {
  const double r = kMarkerRadius;
  switch (line_style % kLineStyles) {
    case 0:
      svg.Empty("circle", {{"class", "mark"}, {"cx", Coordinate(x)}, {"cy", Coordinate(y)}, {"r", Coordinate(r)}});
      return;
    case 1:
      svg.Empty("path", {{"class", "mark"},
                         {"d", PolygonPath({{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}})}});
      return;
    case 2:
      svg.Empty("path",
                {{"class", "mark"},
                 {"d", PolygonPath({{x, y - r * 1.2}, {x + r * 1.1, y + r * 0.9}, {x - r * 1.1, y + r * 0.9}})}});
      return;
    case 3:
      svg.Empty("path", {{"class", "mark"},
                         {"d", PolygonPath({{x, y - r * 1.3}, {x + r * 1.3, y}, {x, y + r * 1.3}, {x - r * 1.3, y}})}});
      return;
    default:
      svg.Empty("path",
                {{"class", "mark"},
                 {"d", PolygonPath({{x, y + r * 1.2}, {x + r * 1.1, y - r * 0.9}, {x - r * 1.1, y - r * 0.9}})}});
  }
}

void DrawWhisker(Markup& svg, const PlotArea& area, double x, double y_low, double y_high) {
  const double low = std::min(y_low, area.bottom);
  const double high = std::max(y_high, area.top);
  std::string path = PathThrough({{x, low}, {x, high}});
  for (const auto& [end, is_cut] : {std::pair(low, y_low > area.bottom), std::pair(high, y_high < area.top)}) {
    path += is_cut ? "" : PathThrough({{x - kCapHalfWidth, end}, {x + kCapHalfWidth, end}});
  }
  svg.Empty("path", {{"class", "whisker"}, {"d", path}});
}

void DrawHorizontalWhisker(Markup& svg, const PlotArea& area, double y, double x_low, double x_high) {
  const double low = std::max(x_low, area.left);
  const double high = std::min(x_high, area.right);
  std::string path = PathThrough({{low, y}, {high, y}});
  for (const auto& [end, is_cut] : {std::pair(low, x_low < area.left), std::pair(high, x_high > area.right)}) {
    path += is_cut ? "" : PathThrough({{end, y - kCapHalfWidth}, {end, y + kCapHalfWidth}});
  }
  svg.Empty("path", {{"class", "whisker"}, {"d", path}});
}

void DrawOutcomeMark(Markup& svg, samplestore::Outcome outcome, double x, double y) {
  constexpr double r = 5;
  if (outcome == samplestore::Outcome::kFailed) {
    const double arm = r * 0.9;
    svg.Empty("path", {{"class", "failed"},
                       {"d", PathThrough({{x - arm, y - arm}, {x + arm, y + arm}}) +
                                 PathThrough({{x - arm, y + arm}, {x + arm, y - arm}})}});
    return;
  }
  svg.Empty("path", {{"class", "invalid"},
                     {"d", PolygonPath({{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}}) +
                               PathThrough({{x - r, y}, {x, y - r}}) + PathThrough({{x - r, y + r}, {x + r, y - r}}) +
                               PathThrough({{x, y + r}, {x + r, y}})}});
}

void OpenPoint(Markup& svg, size_t index, std::string_view tip) {
  svg.Open("a", {{"class", "pt"},
                 {"href", fmt::format("#p{}", index + 1)},
                 {"data-c", fmt::format("{}", index + 1)},
                 {"tabindex", "-1"}});
  svg.Element("title", tip);
}

}  // namespace assay::report
