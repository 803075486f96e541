// Throughput of every configuration, fastest first: for spaces that vary neither batch size nor length.
#include <fmt/format.h>

#include <algorithm>

#include "report/charts/arrange.h"
#include "report/charts/row_layout.h"
#include "report/estimate.h"
#include "report/format.h"

namespace assay::report {
namespace {

struct Ranked {
  ChartRow row;
  Estimate estimate;
};

std::vector<Ranked> Rank(const ChartInput& input, const Metric& metric) {
  const std::string color_property = ColorProperty(input.results);
  std::vector<Ranked> ranked;
  for (const Configuration& configuration : input.results.configurations()) {
    if (const std::optional<Estimate> estimate = EstimateOf(configuration, metric)) {
      ranked.push_back({{&configuration, ColorOf(input.results, color_property, configuration)}, *estimate});
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const Ranked& a, const Ranked& b) { return a.estimate.value > b.estimate.value; });
  return ranked;
}

}  // namespace

std::optional<Figure> BuildRanking(const ChartKind& kind, const ChartInput& input) {
  const Metric* metric = FindMetric(input.metrics, kind.metric);
  if (metric == nullptr || !input.results.VaryingWith(experiment::Role::kBatchSize).empty() ||
      !input.results.VaryingWith(experiment::Role::kLength).empty()) {
    return std::nullopt;
  }
  const std::vector<Ranked> ranked = Rank(input, *metric);
  RowLayout layout{metric->unit, 0, {}};
  std::vector<ChartRow> rows;
  for (const Ranked& entry : ranked) {
    rows.push_back(entry.row);
    layout.high = std::max(layout.high, std::min(entry.estimate.high, 1.4 * entry.estimate.value));
  }
  layout.draw = [&](Markup& svg, const ChartRow& row, const PlotArea& area, const LinearScale& x, double y) {
    const Estimate estimate = *EstimateOf(*row.configuration, *metric);
    OpenPoint(svg, row.configuration->index,
              fmt::format("{}\n{} {}\n{}", input.results.Label(*row.configuration), Readable(estimate.value),
                          metric->unit, IntervalText(estimate)));
    DrawLine(svg, area.left, y, x(estimate.value), y, "bar");
    if (estimate.has_interval()) {
      DrawHorizontalWhisker(svg, area, y, x(estimate.low), x(estimate.high));
    }
    DrawMarker(svg, 0, x(estimate.value), y);
    svg.Close();
  };
  Figure figure = DrawRows(kind, layout, input.results, rows);
  figure.subtitle = rows.size() > 1 ? "fastest first" : "";
  return figure;
}

}  // namespace assay::report
