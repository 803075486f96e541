// The space as a map: a cell for each place of two axes, panels for the others, whatever became of the point.
#include <algorithm>

#include "report/charts/arrange.h"
#include "report/charts/chart.h"
#include "report/fields.h"

namespace assay::report {
namespace {

constexpr char kHeatMapSpec[] = R"json({
  "params": [{"name": "picked", "value": -1}],
  "transform": [
    {"joinaggregate": [{"op": "max", "field": "value", "as": "most"}], "groupby": ["group"]},
    {"calculate": "datum.value / (datum.most || 1)", "as": "share"},
    {"calculate": "{out_of_memory: 'OOM', invalid: 'rule', ended_early: 'early', failed: 'failed', missing: '–'}[datum.state] || datum.text",
     "as": "text"}
  ],
  "facet": {"field": "panel", "type": "nominal", "title": null, "sort": {"field": "panel_order"}},
  "spec": {
    "width": {"step": 50},
    "height": {"step": 26},
    "layer": [
      {
        "mark": {"type": "rect", "cornerRadius": 3},
        "encoding": {
          "fill": {
            "condition": [
              {"test": "datum.state === 'valid'", "value": "var(--c0)"},
              {"test": "datum.state === 'out_of_memory'", "value": "var(--oom-bg)"},
              {"test": "datum.state === 'invalid'", "value": "var(--warn-bg)"},
              {"test": "datum.state === 'ended_early'", "value": "var(--mute-bg)"},
              {"test": "datum.state === 'failed'", "value": "var(--bad-bg)"}
            ],
            "value": "transparent"
          },
          "fillOpacity": {
            "condition": {"test": "datum.state !== 'valid'", "value": 1},
            "field": "share", "type": "quantitative", "legend": null,
            "scale": {"domain": [0, 1], "range": [0.06, 0.55]}
          },
          "stroke": {
            "condition": [
              {"test": "datum.i === picked", "value": "var(--ink)"},
              {"test": "datum.state === 'missing'", "value": "var(--rule)"}
            ],
            "value": "var(--card)"
          },
          "strokeDash": {"condition": {"test": "datum.state === 'missing'", "value": [3, 3]}, "value": [1, 0]},
          "strokeWidth": {"condition": {"test": "datum.i === picked", "value": 2.5}, "value": 1}
        }
      },
      {
        "mark": {"type": "text", "fontSize": 11, "baseline": "middle"},
        "encoding": {
          "text": {"field": "text"},
          "color": {
            "condition": [
              {"test": "datum.state === 'valid'", "value": "var(--ink)"},
              {"test": "datum.state === 'out_of_memory'", "value": "var(--oom)"},
              {"test": "datum.state === 'invalid'", "value": "var(--warn)"},
              {"test": "datum.state === 'failed'", "value": "var(--bad)"}
            ],
            "value": "var(--soft)"
          }
        }
      }
    ],
    "encoding": {
      "x": {"field": "column", "type": "ordinal", "title": "@column.title", "sort": null,
            "axis": {"labelAngle": 0, "domain": false, "ticks": false}},
      "y": {"field": "row", "type": "ordinal", "title": null, "sort": null, "axis": {"domain": false, "ticks": false}}
    }
  }
})json";

/// A number if one varies: that is what people look along.
const Axis* ColumnAxis(const ResultSet& results, const Axis* rows) {
  for (const experiment::Role role : {experiment::Role::kBatchSize, experiment::Role::kLength}) {
    const Axis* axis = results.AxisOf(results.VaryingWith(role));
    if (axis != nullptr && axis != rows) {
      return axis;
    }
  }
  const auto found = std::ranges::find_if(results.axes(), [&](const Axis& axis) { return &axis != rows; });
  return found == results.axes().end() ? nullptr : &*found;
}

}  // namespace

std::optional<Chart> BuildHeatMap(const ReportContent& content) {
  const ResultSet& results = content.results;
  const Axis* rows = ColorAxis(results, results.VaryingWith(experiment::Role::kBatchSize));
  const Axis* columns = ColumnAxis(results, rows);
  if (rows == nullptr && columns == nullptr) {
    return std::nullopt;
  }
  const std::string value = content.metrics.empty() ? "" : FieldOf(content.metrics.front());
  std::vector<std::string> panels;
  for (const Axis& axis : results.axes()) {
    if (&axis != rows && &axis != columns) {
      panels.push_back(axis.property);
    }
  }
  return Chart{.view = "overview",
               .title = "The space",
               .text =
                   "A cell for each point. OOM: memory was not enough; rule: a rule, a gate or the model forbids it; "
                   "early: its first steps were far behind those of others; failed: something else, to be tried again; "
                   "dashed: not measured.",
               .data = ChartData::kCells,
               .choices = {{"value", "value", "metrics", value},
                           {"row", "rows", "axes", rows == nullptr ? "" : FieldOf(*rows), true},
                           {"column", "columns", "axes", columns == nullptr ? "" : FieldOf(*columns), true}},
               .panels = panels,
               .spec = nlohmann::json::parse(kHeatMapSpec)};
}

}  // namespace assay::report
