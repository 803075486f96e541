// What a step costs at any batch size: the measured times and the line through them.
#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kStepCostSpec[] = R"json({
  "params": [{"name": "picked", "value": -1}],
  "facet": {"field": "panel", "type": "nominal", "title": null, "sort": {"field": "panel_order"}},
  "spec": {
    "height": 240,
    "layer": [
      {
        "transform": [{"filter": "datum.kind === 'line'"}],
        "mark": {"type": "line", "clip": true},
        "encoding": {
          "y": {"field": "seconds"},
          "detail": {"field": "line"},
          "strokeDash": {"condition": {"test": "!datum.fitted", "value": [2, 4]}, "value": [1, 0]},
          "opacity": {"condition": {"test": "!datum.fitted", "value": 0.55}, "value": 0.9}
        }
      },
      {
        "transform": [{"filter": "datum.kind !== 'line' && isValid(datum['@y.low'])"}],
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": {"y": {"field": "@y.low"}, "y2": {"field": "@y.high"}}
      },
      {
        "transform": [{"filter": "datum.kind !== 'line'"}],
        "mark": {"type": "point", "filled": true},
        "encoding": {
          "size": {"condition": {"test": "datum.i === picked", "value": 160}, "value": 40},
          "shape": {"field": "@shape", "type": "nominal", "title": "@shape.title"}
        }
      }
    ],
    "encoding": {
      "x": {"field": "@x", "type": "quantitative", "title": "@x.title", "scale": {"zero": true}},
      "y": {"field": "@y", "type": "quantitative", "title": "@y.title", "scale": {"zero": true}},
      "color": {"field": "@color", "type": "nominal", "title": "@color.title"}
    }
  }
})json";

}  // namespace

std::optional<Chart> BuildStepCost(const ReportContent& content) {
  const Metric* step = FindMetric(content.metrics, MetricKind::kStepSeconds);
  const Axis* batch = content.results.AxisOf(content.results.VaryingWith(experiment::Role::kBatchSize));
  if (step == nullptr || batch == nullptr || content.lines.empty()) {
    return std::nullopt;
  }
  const Arrangement series = Arrange(content.results, batch->property);
  return Chart{.view = "scaling",
               .title = "What a step costs",
               .text =
                   "t = fixed + each \u00b7 batch size by least squares. Dotted: through two batch sizes, where "
                   "every line goes; it proves nothing.",
               .data = ChartData::kLines,
               .choices = {{"y", "up", "fixed", FieldOf(*step)},
                           {"x", "across", "fixed", FieldOf(*batch)},
                           {"color", "colour", "axes", series.color, true},
                           {"shape", "shape", "axes", series.shape, true}},
               .panels = series.panels,
               .spec = nlohmann::json::parse(kStepCostSpec)};
}

}  // namespace assay::report
