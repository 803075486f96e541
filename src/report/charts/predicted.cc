// What was foretold against what was measured.
#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kPredictedSpec[] = R"json({
  "height": 340,
  "params": [{"name": "picked", "value": -1}],
  "layer": [
    {
      "transform": [
        {"aggregate": [
          {"op": "min", "field": "measured", "as": "a"}, {"op": "max", "field": "measured", "as": "b"},
          {"op": "min", "field": "predicted", "as": "c"}, {"op": "max", "field": "predicted", "as": "d"}
        ]},
        {"calculate": "[min(datum.a, datum.c), max(datum.b, datum.d)]", "as": "measured"},
        {"flatten": ["measured"]},
        {"calculate": "datum.measured", "as": "predicted"}
      ],
      "mark": {"type": "line", "strokeDash": [5, 4]},
      "encoding": {"color": {"value": "var(--rule)"}}
    },
    {
      "transform": [{"filter": "isValid(datum.measured_low)"}],
      "mark": {"type": "rule", "opacity": 0.4},
      "encoding": {"x": {"field": "measured_low"}, "x2": {"field": "measured_high"}}
    },
    {
      "mark": {"type": "point", "filled": true, "opacity": 0.8},
      "encoding": {
        "size": {"condition": {"test": "datum.i === picked", "value": 200}, "value": 55},
        "stroke": {"condition": {"test": "datum.i === picked", "value": "var(--ink)"}, "value": null}
      }
    }
  ],
  "encoding": {
    "x": {"field": "measured", "type": "quantitative", "title": "@what.measured_title"},
    "y": {"field": "predicted", "type": "quantitative", "title": "@what.predicted_title"},
    "color": {"field": "@color", "type": "nominal", "title": "@color.title"}
  }
})json";

constexpr char kOffSpec[] = R"json({
  "height": 340,
  "params": [{"name": "picked", "value": -1}],
  "transform": [{"calculate": "datum.i * 0.618034 % 1", "as": "jitter"}],
  "layer": [
    {"mark": {"type": "rule", "strokeDash": [5, 4]}, "encoding": {"y": {"datum": 0}, "color": {"value": "var(--rule)"}}},
    {
      "mark": {"type": "point", "filled": true, "opacity": 0.6},
      "encoding": {
        "x": {"field": "@x", "type": "ordinal", "title": "@x.title",
              "axis": {"labelLimit": 130}},
        "xOffset": {"field": "jitter", "type": "quantitative"},
        "y": {"field": "off", "type": "quantitative", "title": "% that too much was foretold"},
        "size": {"condition": {"test": "datum.i === picked", "value": 200}, "value": 45},
        "stroke": {"condition": {"test": "datum.i === picked", "value": "var(--ink)"}, "value": null},
        "color": {"field": "@color", "type": "nominal", "title": "@color.title", "legend": null}
      }
    }
  ]
})json";

}  // namespace

std::optional<Chart> BuildPredictionError(const ReportContent& content) {
  if (content.metrics.empty() || content.results.axes().empty()) {
    return std::nullopt;
  }
  const std::string axis = FieldOf(*ColorAxis(content.results));
  return Chart{.view = "predicted",
               .title = "Where it is off",
               .text = "Above the line too much was foretold, below it too little.",
               .data = ChartData::kPredictions,
               .choices = {{"what", "of", "predictions", ""},
                           {"x", "across", "axes", axis},
                           {"color", "colour", "axes", axis, true}},
               .spec = nlohmann::json::parse(kOffSpec)};
}

std::optional<Chart> BuildPredicted(const ReportContent& content) {
  if (content.metrics.empty()) {
    return std::nullopt;
  }
  const Axis* color = ColorAxis(content.results);
  return Chart{.view = "predicted",
               .title = "Predicted against measured",
               .text = "On the dashed line both are equal; above it too much was foretold.",
               .data = ChartData::kPredictions,
               .choices = {{"what", "of", "predictions", ""},
                           {"color", "colour", "axes", color == nullptr ? "" : FieldOf(*color), true}},
               .spec = nlohmann::json::parse(kPredictedSpec)};
}

}  // namespace assay::report
