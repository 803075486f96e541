// The parts that every chart is drawn with: axes, markers, whiskers and lines as static SVG.
//
// Colours and fonts come from the page's style sheet by class (.c0 to .c7 set the colour of what is inside), so that
// one drawing serves the light, the dark and the printed page.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/html.h"
#include "report/scale.h"
#include "samplestore/measurement.h"

namespace assay::report {

/// Width of every drawing in its own units: about as many as a phone has pixels, so that text stays readable there.
inline constexpr double kChartWidth = 400;

/// Number of colours and of line styles; those of further series repeat.
inline constexpr int kColors = 8;
inline constexpr int kLineStyles = 5;

/// How a series looks: the colour says which method (or model), dash and marker tell series of one colour apart.
struct SeriesStyle {
  int color = 0;  ///< negative: none of its own
  int line = 0;

  /// "c0 l2", for the group that holds the series.
  std::string Classes() const;
  bool operator==(const SeriesStyle&) const = default;
};

/// Where the data goes, in drawing units; y grows downwards.
struct PlotArea {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

/// Opens the <svg> with its accessible name; the caller closes it with Finish.
Markup OpenChart(double height, std::string_view accessible_name);

/// A coordinate with at most one decimal.
std::string Coordinate(double value);
/// "M1,2L3,4": one path through `points`.
std::string PathThrough(const std::vector<std::pair<double, double>>& points);

void DrawLine(Markup& svg, double x1, double y1, double x2, double y2, std::string_view css_class);
/// `anchor`: start, middle or end.
void DrawText(Markup& svg, double x, double y, std::string_view text, std::string_view anchor,
              std::string_view css_class = "");

/// Vertical axis: a hair line and a label per tick, the unit above.
void DrawValueAxis(Markup& svg, const PlotArea& area, const LinearScale& y, const std::vector<double>& ticks,
                   std::string_view unit);
/// Horizontal axis of numbers, with vertical hair lines if `grid`; the title below.
struct NumberAxis {
  std::vector<double> ticks;
  std::string title;
  bool grid = false;
};
void DrawNumberAxis(Markup& svg, const PlotArea& area, const LinearScale& x, const NumberAxis& axis);
/// Horizontal axis of categories. Labels that would run into each other are left out evenly.
void DrawCategoryAxis(Markup& svg, const PlotArea& area, const std::vector<std::string>& labels,
                      std::string_view title);
/// The centre of category `index` of `count`.
double CategoryCenter(const PlotArea& area, size_t index, size_t count);

/// The marker of a line style, about 9 units wide.
void DrawMarker(Markup& svg, int line_style, double x, double y);
/// A vertical or horizontal interval with end caps; an end that `area` cuts off has none.
void DrawWhisker(Markup& svg, const PlotArea& area, double x, double y_low, double y_high);
void DrawHorizontalWhisker(Markup& svg, const PlotArea& area, double y, double x_low, double x_high);
/// What stands for a point without a value: a hatched square when invalid, a cross when failed.
void DrawOutcomeMark(Markup& svg, samplestore::Outcome outcome, double x, double y);

/// A point that leads to configuration `index`'s details and says `tip` when it is pointed at. Close it.
void OpenPoint(Markup& svg, size_t index, std::string_view tip);

}  // namespace assay::report
