// What more ranks give: times the throughput of the fewest, and the part of that which is worth them.
#include "report/characterization.h"
#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kSpeedupSpec[] = R"json({
  "params": [{"name": "picked", "value": -1}],
  "facet": {"field": "panel", "type": "nominal", "title": null, "sort": {"field": "panel_order"}},
  "spec": {
    "height": 240,
    "layer": [
      {
        "transform": [{"filter": "isValid(datum['ideal_#'])"}],
        "mark": {"type": "line", "color": "var(--rule)", "strokeDash": [5, 4]},
        "encoding": {"y": {"field": "ideal_#"}, "color": {"value": "var(--rule)"}}
      },
      {
        "mark": {"type": "line", "opacity": 0.8},
        "encoding": {
          "detail": {"field": "series"},
          "strokeDash": {"field": "dash", "type": "nominal", "scale": {"domain": [0, 1, 2, 3, 4]}, "legend": null}
        }
      },
      {
        "transform": [{"filter": "isValid(datum['#_low'])"}],
        "mark": {"type": "rule", "opacity": 0.5},
        "encoding": {"y": {"field": "#_low"}, "y2": {"field": "#_high"}}
      },
      {
        "mark": {"type": "point", "filled": true},
        "encoding": {
          "size": {"condition": {"test": "datum.i === picked", "value": 160}, "value": 40},
          "shape": {"field": "@shape", "type": "nominal", "title": "@shape.title"}
        }
      }
    ],
    "encoding": {
      "x": {"field": "@x", "type": "quantitative", "title": "@x.title", "axis": {"values": "@x.numbers", "format": "d"}},
      "y": {"field": "#", "type": "quantitative", "title": "##", "scale": {"zero": true}},
      "color": {"field": "@color", "type": "nominal", "title": "@color.title"}
    }
  }
})json";

std::string Replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::optional<Chart> BuildOverRanks(const ReportContent& content, std::string_view field, std::string_view axis_title,
                                    std::string_view title, std::string_view text) {
  const Axis* ranks = RanksAxis(content.results);
  const Metric* throughput = FindMetric(content.metrics, MetricKind::kThroughput);
  if (ranks == nullptr || throughput == nullptr) {
    return std::nullopt;
  }
  const Arrangement series = Arrange(content.results, ranks->property);
  const std::string spec = Replaced(Replaced(kSpeedupSpec, "##", axis_title), "#", field);
  return Chart{.view = "scaling",
               .title = std::string(title),
               .text = std::string(text),
               .data = ChartData::kSpeedups,
               .choices = {{"y", "of", "fixed", FieldOf(*throughput)},
                           {"x", "across", "fixed", FieldOf(*ranks)},
                           {"color", "colour", "axes", series.color, true},
                           {"shape", "shape", "axes", series.shape, true}},
               .panels = series.panels,
               .spec = nlohmann::json::parse(spec)};
}

}  // namespace

std::optional<Chart> BuildSpeedup(const ReportContent& content) {
  return BuildOverRanks(content, "speedup", "times the fewest", "Speed over ranks",
                        "Against the fewest ranks of the same series; dashed: as many times as there are ranks.");
}

std::optional<Chart> BuildEfficiency(const ReportContent& content) {
  return BuildOverRanks(content, "efficiency", "% of the ideal", "Efficiency over ranks",
                        "The speed-up over the number of ranks, beside the fewest of the same series.");
}

}  // namespace assay::report
