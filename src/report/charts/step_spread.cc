// The time of every step of every configuration, with the box of its quartiles.
#include <fmt/format.h>

#include <algorithm>

#include "measure/statistics.h"
#include "report/charts/arrange.h"
#include "report/charts/row_layout.h"
#include "report/format.h"

namespace assay::report {
namespace {

constexpr double kBoxHalfHeight = 7;
constexpr double kJitter = 5;
constexpr size_t kMaxDots = 240;  // a configuration; more would overlap anyway

// The steps of all runs that count, sorted.
std::vector<double> SortedSteps(const Configuration& configuration) {
  std::vector<double> steps;
  for (const samplestore::Measurement* run : configuration.CountedRuns()) {
    const std::vector<double>& series = SeriesOf(*run, "step_seconds");
    steps.insert(steps.end(), series.begin(), series.end());
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

// Dots keep clear of each other by the golden ratio's low-discrepancy sequence: the same picture each time.
double JitterOf(size_t index) {
  constexpr double kGolden = 0.6180339887498949;
  const double position = static_cast<double>(index) * kGolden;
  return (position - static_cast<double>(static_cast<size_t>(position)) - 0.5) * 2 * kJitter;
}

// Every k-th of the sorted steps and always both ends, as one path of dots: round caps make them.
std::string Dots(const std::vector<double>& sorted, const LinearScale& x, double y) {
  const size_t shown = std::min(sorted.size(), kMaxDots);
  std::string path;
  for (size_t i = 0; i < shown; ++i) {
    const size_t at = shown > 1 ? i * (sorted.size() - 1) / (shown - 1) : 0;
    path += fmt::format("M{},{}h0", Coordinate(x(sorted[at])), Coordinate(y + JitterOf(i)));
  }
  return path;
}

void DrawStrip(Markup& svg, const Configuration& configuration, const ResultSet& results, const LinearScale& x,
               double y) {
  const std::vector<double> steps = SortedSteps(configuration);
  const double quarter = measure::Quantile(steps, 0.25);
  const double median = measure::Quantile(steps, 0.5);
  const double three_quarters = measure::Quantile(steps, 0.75);
  OpenPoint(svg, configuration.index,
            fmt::format("{}\nmedian {} s, half of the steps {} to {} s\nall {} steps {} to {} s",
                        results.Label(configuration), Readable(median), Readable(quarter), Readable(three_quarters),
                        steps.size(), Readable(steps.front()), Readable(steps.back())));
  svg.Empty("path", {{"class", "dots"}, {"d", Dots(steps, x, y)}});
  svg.Empty("rect", {{"class", "box"},
                     {"x", Coordinate(x(quarter))},
                     {"y", Coordinate(y - kBoxHalfHeight)},
                     {"width", Coordinate(std::max(1.0, x(three_quarters) - x(quarter)))},
                     {"height", Coordinate(2 * kBoxHalfHeight)}});
  DrawLine(svg, x(median), y - kBoxHalfHeight - 1, x(median), y + kBoxHalfHeight + 1, "median");
  svg.Close();
}

}  // namespace

std::optional<Figure> BuildStepSpread(const ChartKind& kind, const ChartInput& input) {
  const std::string color_property = ColorProperty(input.results);
  RowLayout layout{"seconds a step", 0, {}};
  std::vector<ChartRow> rows;
  for (const Configuration& configuration : input.results.configurations()) {
    const std::vector<double> steps = SortedSteps(configuration);
    if (!steps.empty()) {
      rows.push_back({&configuration, ColorOf(input.results, color_property, configuration)});
      layout.high = std::max(layout.high, rows.size() <= kMaxRows ? steps.back() : 0);
    }
  }
  if (rows.empty()) {
    return std::nullopt;
  }
  layout.draw = [&](Markup& svg, const ChartRow& row, const PlotArea&, const LinearScale& x, double y) {
    DrawStrip(svg, *row.configuration, input.results, x, y);
  };
  Figure figure = DrawRows(kind, layout, input.results, rows);
  figure.subtitle = "a dot for each step; box: the middle half, with the median";
  return figure;
}

}  // namespace assay::report
