// Two sides of a comparison: the ratio of each matched pair with its interval.
#include "report/charts/chart.h"

namespace assay::report {
namespace {

constexpr char kRatiosSpec[] = R"json({
  "height": {"step": 30},
  "params": [{"name": "picked", "value": -1}],
  "layer": [
    {
      "transform": [{"filter": "datum.row === 0"}],
      "mark": {"type": "rule", "color": "var(--rule)", "strokeDash": [4, 3]},
      "encoding": {"x": {"datum": 1}}
    },
    {
      "transform": [{"filter": "isValid(datum.low)"}],
      "mark": {"type": "rule", "strokeWidth": 2, "yOffset": 6},
      "encoding": {
        "x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"},
        "y": {"field": "row", "type": "ordinal", "axis": null},
        "color": {"field": "strength", "type": "nominal"}
      }
    },
    {
      "mark": {"type": "point", "filled": true, "size": 60, "yOffset": 6},
      "encoding": {
        "x": {"field": "ratio", "type": "quantitative", "title": "second by first",
              "scale": {"zero": false, "padding": 12}},
        "y": {"field": "row", "type": "ordinal", "axis": null},
        "shape": {"condition": {"test": "datum.all", "value": "diamond"}, "value": "circle"},
        "color": {"field": "strength", "type": "nominal", "title": null,
                  "scale": {"domain": ["clear", "clear in these runs", "within the noise", "no interval"],
                            "range": ["var(--c2)", "var(--c0)", "var(--c7)", "var(--rule)"]}}
      }
    },
    {
      "mark": {"type": "text", "align": "left", "baseline": "middle", "dy": -6, "x": 0, "fontSize": 11},
      "encoding": {
        "text": {"field": "label"},
        "y": {"field": "row", "type": "ordinal", "axis": null},
        "color": {"value": "var(--ink)"}
      }
    }
  ]
})json";

}  // namespace

std::optional<Chart> BuildRatios(const ReportContent& content) {
  if (content.results.configurations().size() < 2 || content.metrics.empty()) {
    return std::nullopt;
  }
  return Chart{.view = "compare",
               .title = "Pair by pair",
               .text = "The ratio of each matched pair with its 95 % interval; the diamond is their geometric mean.",
               .data = ChartData::kPairs,
               .spec = nlohmann::json::parse(kRatiosSpec)};
}

}  // namespace assay::report
