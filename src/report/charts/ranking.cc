// The best configurations by one target, with their intervals.
#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kRankingSpec[] = R"json({
  "params": [{"name": "picked", "value": -1}],
  "facet": {"field": "panel", "type": "nominal", "title": null, "sort": {"field": "panel_order"}},
  "resolve": {"scale": {"y": "independent"}},
  "spec": {
    "height": {"step": 30},
    "layer": [
      {
        "mark": {"type": "bar", "height": 4, "yOffset": 6, "cornerRadiusEnd": 2, "opacity": 0.55},
        "encoding": {"x": {"field": "@y", "type": "quantitative", "title": "@y.title", "scale": {"zero": true}}}
      },
      {
        "transform": [{"filter": "isValid(datum['@y.low'])"}],
        "mark": {"type": "rule", "yOffset": 6, "strokeWidth": 2},
        "encoding": {"x": {"field": "@y.low", "type": "quantitative"}, "x2": {"field": "@y.high"}}
      },
      {
        "mark": {"type": "point", "filled": true, "yOffset": 6, "size": 45},
        "encoding": {
          "x": {"field": "@y", "type": "quantitative"},
          "size": {"condition": {"test": "datum.i === picked", "value": 160}, "value": 45}
        }
      },
      {
        "mark": {"type": "text", "align": "left", "baseline": "middle", "dy": -6, "x": 0, "fontSize": 11},
        "encoding": {"text": {"field": "label"}, "color": {"value": "var(--ink)"}}
      }
    ],
    "encoding": {
      "y": {"field": "rank", "type": "ordinal", "axis": null},
      "color": {"field": "@color", "type": "nominal", "title": "@color.title"}
    }
  }
})json";

}  // namespace

std::optional<Chart> BuildRanking(const ReportContent& content) {
  if (content.metrics.empty()) {
    return std::nullopt;
  }
  const Axis* color = ColorAxis(content.results);
  return Chart{.view = "overview",
               .title = "The best",
               .text = "Of those in the filter, best first, with 95 % intervals; each machine and commit by itself.",
               .data = ChartData::kRanked,
               .choices = {{"y", "by", "metrics", FieldOf(content.metrics.front())},
                           {"color", "colour", "axes", color == nullptr ? "" : FieldOf(*color), true}},
               .spec = nlohmann::json::parse(kRankingSpec)};
}

}  // namespace assay::report
