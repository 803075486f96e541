// The chart of the peaks of tensor memory in each phase of a fine-tune.
#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {
namespace {

constexpr char kMemoryPhases[] = R"json({
  "height": {"step": 30},
  "params": [{"name": "picked", "value": -1}],
  "layer": [
    {
      "mark": {"type": "rule", "color": "var(--hair)", "strokeWidth": 3, "yOffset": 6},
      "encoding": {"x": {"aggregate": "max", "field": "value", "type": "quantitative"}, "x2": {"datum": 0}}
    },
    {
      "mark": {"type": "point", "filled": true, "size": 70, "yOffset": 6},
      "encoding": {
        "x": {"field": "value", "type": "quantitative", "title": "GiB, peak within the phase", "scale": {"zero": true}},
        "color": {"field": "part", "type": "nominal", "title": null, "sort": {"field": "order"}},
        "shape": {"field": "part", "type": "nominal", "title": null, "sort": {"field": "order"}}
      }
    }
  ],
  "encoding": {"y": {"field": "label", "type": "nominal", "sort": null, "title": null, "axis": {"style": "above"}}}
})json";

}  // namespace

const std::vector<PartsChart>& FineTuningCharts() {
  static const std::vector<PartsChart> charts = {
      {"memory_phases", "explore", "Memory by phase",
       "The most live tensor memory within each phase; phases are no parts of each other.", "memory_phases",
       kMemoryPhases}};
  return charts;
}

}  // namespace assay::experiment
