// Charts of the parts of a rank's memory and of a step's time.
#include "experiment/vit_plugin/vit_plugin.h"

namespace assay::experiment {
namespace {

constexpr char kMemoryParts[] = R"json({
  "height": {"step": 30},
  "transform": [
    {"filter": "indexof(['parameters', 'gradients', 'masters', 'moments', 'buckets', 'activations', 'temporaries'], datum.part) >= 0"}
  ],
  "mark": {"type": "bar", "height": 10, "yOffset": 6},
  "encoding": {
    "y": {"field": "label", "type": "nominal", "sort": null, "title": null, "axis": {"style": "above"}},
    "x": {"field": "value", "type": "quantitative", "title": "MiB of rank 0 at its peak"},
    "color": {"field": "part", "type": "nominal", "title": null, "sort": {"field": "order"}},
    "order": {"field": "order"}
  }
})json";

constexpr char kTimeParts[] = R"json({
  "height": {"step": 30},
  "transform": [{"filter": "indexof(['data', 'forward', 'backward', 'optimiser'], datum.part) >= 0"}],
  "mark": {"type": "bar", "height": 10, "yOffset": 6},
  "encoding": {
    "y": {"field": "label", "type": "nominal", "sort": null, "title": null, "axis": {"style": "above"}},
    "x": {"field": "value", "type": "quantitative", "title": "ms of a step on rank 0"},
    "color": {"field": "part", "type": "nominal", "title": null, "sort": {"field": "order"}},
    "order": {"field": "order"}
  }
})json";

}  // namespace

const std::vector<PartsChart>& VitPluginCharts() {
  static const std::vector<PartsChart> charts = {
      {"vit_memory", "explore", "Where the memory goes", "What rank 0 held at its peak; the parts add up to it.",
       "memory", kMemoryParts},
      {"vit_time", "explore", "Where a step's time goes",
       "Medians of rank 0; what of it waited for communication is in the table of times.", "time", kTimeParts}};
  return charts;
}

}  // namespace assay::experiment
