// A metric over a number that varies: a line for each series, a point for each configuration, bars for its interval.
#include <fmt/format.h>

#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kByNumberSpec[] = R"json({
  "params": [{"name": "picked", "value": -1}],
  "facet": {"field": "panel", "type": "nominal", "title": null, "sort": {"field": "panel_order"}},
  "spec": {
    "height": 220,
    "layer": [
      {
        "transform": [{"filter": "datum.state === 'valid'"}],
        "mark": {"type": "line", "opacity": 0.8},
        "encoding": {"strokeDash": {"field": "dash", "type": "nominal", "scale": {"domain": [0, 1, 2, 3, 4]}, "legend": null}}
      },
      {
        "transform": [{"filter": "isValid(datum['@y.low'])"}],
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": {"y": {"field": "@y.low"}, "y2": {"field": "@y.high"}}
      },
      {
        "transform": [{"filter": "datum.state === 'valid'"}],
        "mark": {"type": "point", "filled": true},
        "encoding": {
          "size": {"condition": {"test": "datum.i === picked", "value": 160}, "value": 40},
          "shape": {"field": "@shape", "type": "nominal", "title": "@shape.title"}
        }
      },
      {
        "transform": [{"filter": "datum.state === 'out_of_memory'"}, {"calculate": "0", "as": "bottom"}],
        "mark": {"type": "text", "text": "\u00d7", "fontSize": 13, "fontWeight": 700,
                 "yOffset": {"expr": "-6 - 9 * datum.slot"}},
        "encoding": {"y": {"field": "bottom", "type": "quantitative"}}
      }
    ],
    "encoding": {
      "x": {"field": "@x", "type": "quantitative", "title": "@x.title", "scale": {"type": "log", "base": 2, "nice": false},
            "axis": {"values": "@x.numbers", "format": "d"}},
      "y": {"field": "@y", "type": "quantitative", "title": "@y.title", "scale": {"zero": true}},
      "color": {"field": "@color", "type": "nominal", "title": "@color.title"},
      "detail": {"field": "series"}
    }
  }
})json";

std::optional<Chart> BuildByNumber(const ReportContent& content, MetricKind kind, experiment::Role role) {
  const Metric* metric = FindMetric(content.metrics, kind);
  const Axis* axis = content.results.AxisOf(content.results.VaryingWith(role));
  if (metric == nullptr || axis == nullptr || !axis->IsNumeric()) {
    return std::nullopt;
  }
  const Arrangement series = Arrange(content.results, axis->property);
  return Chart{.view = "scaling",
               .title = fmt::format("{} by {}", metric->title, content.results.declared().Label(axis->property)),
               .text = "Bars are 95 % intervals; a cross stands where memory was not enough.",
               .choices = {{"y", "up", "metrics", FieldOf(*metric)},
                           {"x", "across", "numeric_axes", FieldOf(*axis)},
                           {"color", "colour", "axes", series.color, true},
                           {"shape", "shape", "axes", series.shape, true}},
               .panels = series.panels,
               .spec = nlohmann::json::parse(kByNumberSpec)};
}

}  // namespace

std::optional<Chart> BuildThroughputByBatch(const ReportContent& content) {
  return BuildByNumber(content, MetricKind::kThroughput, experiment::Role::kBatchSize);
}
std::optional<Chart> BuildMemoryByBatch(const ReportContent& content) {
  return BuildByNumber(content, MetricKind::kPeakTensorMemory, experiment::Role::kBatchSize);
}
std::optional<Chart> BuildThroughputByLength(const ReportContent& content) {
  return BuildByNumber(content, MetricKind::kThroughput, experiment::Role::kLength);
}
std::optional<Chart> BuildMemoryByLength(const ReportContent& content) {
  return BuildByNumber(content, MetricKind::kPeakTensorMemory, experiment::Role::kLength);
}

}  // namespace assay::report
