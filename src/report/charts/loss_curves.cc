// The loss of every optimiser step.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/charts/arrange.h"
#include "report/charts/figure.h"
#include "report/thin.h"

namespace assay::report {
namespace {

constexpr double kCurvesHeight = 264;
constexpr PlotArea kArea{46, 24, kChartWidth - 8, kCurvesHeight - 44};
constexpr size_t kCurvesTicks = 5;
constexpr size_t kMaxCurvePoints = 300;
constexpr size_t kSmoothFrom = 45;  // steps of the longest curve; below, all are drawn as they are
constexpr size_t kMinWindow = 3;
constexpr size_t kSmoothFraction = 15;  // of the steps go into one mean

struct Extent {
  double steps = 1;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool smoothed = false;

  bool empty() const { return low > high; }
};

const std::vector<double>& LossOf(const Configuration& configuration) {
  static const std::vector<double> kNone;
  const auto runs = configuration.CountedRuns();
  return runs.empty() ? kNone : SeriesOf(*runs.back(), "loss");
}

std::vector<double> StepNumbers(size_t count) {
  std::vector<double> steps(count);
  for (size_t i = 0; i < count; ++i) {
    steps[i] = static_cast<double>(i + 1);
  }
  return steps;
}

Extent FindExtent(const ResultSet& results) {
  Extent extent;
  for (const Configuration& configuration : results.configurations()) {
    const std::vector<double>& loss = LossOf(configuration);
    for (const auto& [step, value] : Thin(StepNumbers(loss.size()), loss, loss.size())) {
      extent.steps = std::max(extent.steps, step);
      extent.low = std::min(extent.low, value);
      extent.high = std::max(extent.high, value);
    }
    extent.smoothed = extent.smoothed || loss.size() >= kSmoothFrom;
  }
  return extent;
}

void DrawCurve(Markup& svg, std::span<const double> loss, std::string_view css_class, const LinearScale& x,
               const LinearScale& y) {
  std::vector<std::pair<double, double>> points = Thin(StepNumbers(loss.size()), loss, kMaxCurvePoints);
  for (auto& [step, value] : points) {
    step = x(step);
    value = y(value);
  }
  svg.Empty("path", {{"class", std::string(css_class)}, {"d", PathThrough(points)}});
}

void DrawConfiguration(Markup& svg, const Configuration& configuration, const ResultSet& results, const Extent& extent,
                       const LinearScale& x, const LinearScale& y) {
  const std::vector<double>& loss = LossOf(configuration);
  // A step of the warm-up may have borne none.
  const std::vector<std::pair<double, double>> points = Thin(StepNumbers(loss.size()), loss, loss.size());
  if (points.empty()) {
    return;
  }
  const auto [first_step, first_loss] = points.front();
  const auto [last_step, last_loss] = points.back();
  OpenPoint(svg, configuration.index,
            fmt::format("{}\nloss {:.4g} at step {:.0f}, {:.4g} at step {:.0f}", results.Label(configuration),
                        first_loss, first_step, last_loss, last_step));
  if (extent.smoothed && loss.size() > kMinWindow) {
    DrawCurve(svg, loss, "line faint", x, y);
    DrawCurve(svg, RunningMean(loss, std::max(kMinWindow, loss.size() / kSmoothFraction)), "line", x, y);
  } else if (points.size() == 1) {
    DrawMarker(svg, 0, x(first_step), y(first_loss));
  } else {
    DrawCurve(svg, loss, "line", x, y);
  }
  svg.Close();
}

/// Of what a step's loss is the mean.
std::string AxisTitle(const Declared& declared) {
  const experiment::Experiments measured = declared.measured();
  const std::string of = measured.empty() ? "" : measured.front()->declaration().report.loss_of;
  return of.empty() ? "loss" : fmt::format("mean loss of the {}", of);
}

std::string DrawPanel(const Panel& panel, const ResultSet& results, const Extent& extent, std::string_view title,
                      std::string_view axis_title) {
  const auto [low, high] = NiceRange(extent.low, extent.high, kCurvesTicks);
  const double last_step = std::max(2.0, extent.steps);
  const LinearScale x(1, last_step, kArea.left, kArea.right);
  const LinearScale y(low, high, kArea.bottom, kArea.top);
  Markup svg =
      OpenChart(kCurvesHeight, panel.title.empty() ? std::string(title) : fmt::format("{}, {}", title, panel.title));
  DrawValueAxis(svg, kArea, y, NiceTicks(low, high, kCurvesTicks), axis_title);
  std::vector<double> ticks = NiceTicks(1, last_step, kCurvesTicks);
  std::erase_if(ticks, [](double tick) { return tick != static_cast<double>(static_cast<long long>(tick)); });
  DrawNumberAxis(svg, kArea, x, {ticks, "optimiser step"});
  for (const Series& series : panel.series) {
    svg.Open("g", {{"class", series.style.Classes()}});
    for (const Configuration* configuration : series.points) {
      DrawConfiguration(svg, *configuration, results, extent, x, y);
    }
    svg.Close();
  }
  return std::move(svg).Finish();
}

}  // namespace

std::optional<Figure> BuildLossCurves(const ChartKind& kind, const ChartInput& input) {
  const Extent extent = FindExtent(input.results);
  if (extent.empty()) {
    return std::nullopt;
  }
  const Arrangement arrangement = Arrange(input.results, "");
  Figure figure{std::string(kind.id), std::string(kind.title), "", LegendOf(input.results, arrangement), {}, "", false};
  figure.subtitle = LinesText(input.results, arrangement);
  if (extent.smoothed) {
    figure.subtitle +=
        figure.subtitle.empty() ? "faint: every step, bold: running mean" : "; faint: every step, bold: running mean";
  }
  figure.legend_markers = false;
  for (const Panel& panel : arrangement.panels) {
    figure.panels.push_back(
        {panel.title, DrawPanel(panel, input.results, extent, kind.title, AxisTitle(input.results.declared()))});
  }
  return figure;
}

}  // namespace assay::report
