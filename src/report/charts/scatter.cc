// Anything against anything, to look around and to keep what a brush covers.
#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kScatterSpec[] = R"json({
  "height": 300,
  "params": [{"name": "picked", "value": -1}],
  "layer": [
    {
      "transform": [{"filter": "isValid(datum['@y.low']) && !datum.outside"}],
      "mark": {"type": "rule", "opacity": 0.4},
      "encoding": {"y": {"field": "@y.low"}, "y2": {"field": "@y.high"}}
    },
    {
      "params": [{"name": "brush", "select": {"type": "interval"}}],
      "mark": {"type": "point", "filled": true},
      "encoding": {
        "opacity": {"condition": {"test": "datum.outside", "value": 0.15}, "value": 0.75},
        "size": {"condition": {"test": "datum.i === picked", "value": 200}, "value": 50},
        "stroke": {"condition": {"test": "datum.i === picked", "value": "var(--ink)"}, "value": null},
        "shape": {"field": "@shape", "type": "nominal", "title": "@shape.title"}
      }
    }
  ],
  "encoding": {
    "x": {"field": "@x", "type": "quantitative", "title": "@x.title", "scale": {"zero": false}},
    "y": {"field": "@y", "type": "quantitative", "title": "@y.title", "scale": {"zero": false}},
    "color": {"field": "@color", "type": "nominal", "title": "@color.title"}
  }
})json";

/// The first number that varies, else the second metric.
std::string HorizontalField(const ReportContent& content) {
  for (const Axis& axis : content.results.axes()) {
    if (axis.IsNumeric()) {
      return FieldOf(axis);
    }
  }
  return FieldOf(content.metrics[content.metrics.size() > 1 ? 1 : 0]);
}

}  // namespace

std::optional<Chart> BuildScatter(const ReportContent& content) {
  if (content.metrics.empty()) {
    return std::nullopt;
  }
  const Arrangement series = Arrange(content.results, "");
  return Chart{.view = "explore",
               .title = "One against another",
               .text = "Drag over points to keep them: every chart, the facets and the table follow.",
               .choices = {{"y", "up", "numbers", FieldOf(content.metrics.front())},
                           {"x", "across", "numbers", HorizontalField(content)},
                           {"color", "colour", "axes", series.color, true},
                           {"shape", "shape", "axes", series.shape, true}},
               .spec = nlohmann::json::parse(kScatterSpec)};
}

}  // namespace assay::report
