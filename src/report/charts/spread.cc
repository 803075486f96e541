// How a target spreads over the values of one coordinate.
#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kSpreadSpec[] = R"json({
  "height": 300,
  "params": [{"name": "picked", "value": -1}],
  "transform": [{"calculate": "datum.i * 0.618034 % 1", "as": "jitter"}],
  "layer": [
    {
      "mark": {"type": "point", "filled": true, "opacity": 0.5},
      "encoding": {
        "xOffset": {"field": "jitter", "type": "quantitative"},
        "size": {"condition": {"test": "datum.i === picked", "value": 160}, "value": 28},
        "stroke": {"condition": {"test": "datum.i === picked", "value": "var(--ink)"}, "value": null}
      }
    },
    {
      "transform": [{"aggregate": [{"op": "min", "field": "middle", "as": "middle"}], "groupby": ["@x", "group"]}],
      "mark": {"type": "tick", "thickness": 2, "size": 34, "color": "var(--ink)"},
      "encoding": {"y": {"field": "middle", "type": "quantitative"}, "color": {"value": "var(--ink)"}}
    }
  ],
  "encoding": {
    "x": {"field": "@x", "type": "ordinal", "title": "@x.title", "axis": {"labelLimit": 130}},
    "y": {"field": "@y", "type": "quantitative", "title": "@y.title", "scale": {"zero": false}},
    "color": {"field": "@color", "type": "nominal", "title": "@color.title", "legend": null}
  }
})json";

}  // namespace

std::optional<Chart> BuildSpread(const ReportContent& content) {
  if (content.metrics.empty() || content.results.axes().empty()) {
    return std::nullopt;
  }
  const std::string axis = FieldOf(*ColorAxis(content.results));
  return Chart{.view = "explore",
               .title = "A target by a coordinate",
               .text = "Each point a configuration; the bars are the medians of each machine and commit in the filter.",
               .choices = {{"y", "up", "metrics", FieldOf(content.metrics.front())},
                           {"x", "across", "axes", axis},
                           {"color", "colour", "axes", axis, true}},
               .spec = nlohmann::json::parse(kSpreadSpec)};
}

}  // namespace assay::report
