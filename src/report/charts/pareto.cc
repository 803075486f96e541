// Any two targets against each other: what nothing beats in both stands out, and what is told by a line through it.
#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kParetoSpec[] = R"json({
  "height": 340,
  "params": [{"name": "picked", "value": -1}],
  "layer": [
    {
      "transform": [{"filter": "datum.front"}],
      "mark": {"type": "line", "color": "var(--rule)", "strokeDash": [5, 4], "strokeWidth": 1.5},
      "encoding": {"detail": {"field": "group"}, "order": {"field": "@x"}, "color": {"value": "var(--rule)"}}
    },
    {
      "transform": [{"filter": "isValid(datum['@x.low']) && !datum.outside"}],
      "mark": {"type": "rule", "opacity": 0.5},
      "encoding": {"x": {"field": "@x.low"}, "x2": {"field": "@x.high"}}
    },
    {
      "transform": [{"filter": "isValid(datum['@y.low']) && !datum.outside"}],
      "mark": {"type": "rule", "opacity": 0.5},
      "encoding": {"y": {"field": "@y.low"}, "y2": {"field": "@y.high"}}
    },
    {
      "params": [{"name": "brush", "select": {"type": "interval"}}],
      "mark": {"type": "point", "filled": true},
      "encoding": {
        "opacity": {"condition": [{"test": "datum.outside", "value": 0.15}, {"test": "datum.front", "value": 1}],
                    "value": 0.45},
        "size": {"condition": [{"test": "datum.i === picked", "value": 220}, {"test": "datum.front", "value": 90}],
                 "value": 45},
        "stroke": {"condition": {"test": "datum.i === picked", "value": "var(--ink)"}, "value": null},
        "shape": {"field": "@shape", "type": "nominal", "title": "@shape.title"}
      }
    }
  ],
  "encoding": {
    "x": {"field": "@x", "type": "quantitative", "title": "@x.title", "scale": {"zero": false, "nice": true}},
    "y": {"field": "@y", "type": "quantitative", "title": "@y.title", "scale": {"zero": false, "nice": true}},
    "color": {"field": "@color", "type": "nominal", "title": "@color.title"}
  }
})json";

}  // namespace

std::optional<Chart> BuildPareto(const ReportContent& content) {
  const Metric* y = FindMetric(content.metrics, MetricKind::kThroughput);
  const Metric* x = FindMetric(content.metrics, MetricKind::kPeakTensorMemory);
  if (content.metrics.size() < 2) {
    return std::nullopt;
  }
  y = y == nullptr ? &content.metrics[0] : y;
  x = x == nullptr ? &content.metrics[1] : x;
  const Arrangement series = Arrange(content.results, "");
  return Chart{.view = "overview",
               .title = "Any two targets",
               .text =
                   "Filled: on the front, beaten by none of its own machine and commit in both; pale: beaten. Bars "
                   "are 95 % intervals. Drag over points to keep them.",
               .choices = {{"y", "up", "metrics", FieldOf(*y)},
                           {"x", "across", "metrics", FieldOf(*x)},
                           {"color", "colour", "axes", series.color, true},
                           {"shape", "shape", "axes", series.shape, true}},
               .spec = nlohmann::json::parse(kParetoSpec)};
}

}  // namespace assay::report
