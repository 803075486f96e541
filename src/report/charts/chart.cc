#include "report/charts/chart.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "report/breakdown.h"

namespace assay::report {
namespace {

using nlohmann::json;

// clang-format off
constexpr std::array kChartKinds = {
    ChartKind{"pareto", &BuildPareto},
    ChartKind{"ranking", &BuildRanking},
    ChartKind{"heat_map", &BuildHeatMap},
    ChartKind{"scatter", &BuildScatter},
    ChartKind{"spread", &BuildSpread},
    ChartKind{"speedup", &BuildSpeedup},
    ChartKind{"efficiency", &BuildEfficiency},
    ChartKind{"step_cost", &BuildStepCost},
    ChartKind{"throughput_by_batch", &BuildThroughputByBatch},
    ChartKind{"memory_by_batch", &BuildMemoryByBatch},
    ChartKind{"throughput_by_length", &BuildThroughputByLength},
    ChartKind{"memory_by_length", &BuildMemoryByLength},
    ChartKind{"foretold", &BuildPredicted},
    ChartKind{"prediction_error", &BuildPredictionError},
    ChartKind{"ratios", &BuildRatios},
};
// clang-format on

std::string_view NameOf(ChartData data) {
  constexpr std::string_view kNames[] = {"configurations", "ranked",      "cells", "lines",
                                         "speedups",       "predictions", "pairs", "parts"};
  return kNames[static_cast<int>(data)];
}

json ToJson(const Chart& chart) {
  json choices = json::array();
  for (const Choice& choice : chart.choices) {
    choices.push_back({{"name", choice.name},
                       {"label", choice.label},
                       {"of", choice.of},
                       {"chosen", choice.chosen},
                       {"may_be_nothing", choice.may_be_nothing}});
  }
  return {{"id", chart.id},
          {"view", chart.view},
          {"title", chart.title},
          {"text", chart.text},
          {"data", NameOf(chart.data)},
          {"breakdown", chart.breakdown},
          {"choices", std::move(choices)},
          {"panels", chart.panels ? json(*chart.panels) : json()},
          {"spec", chart.spec}};
}

/// Charts of parts that experiments declare, where the report has the parts.
void AddDeclared(const ReportContent& content, json& charts) {
  for (const experiment::Experiment* experiment : content.results.declared().all()) {
    for (const experiment::PartsChart& declared : experiment->declaration().report.charts) {
      const bool has_parts = std::ranges::any_of(
          content.breakdowns, [&](const BreakdownTable& table) { return table.breakdown->id == declared.breakdown; });
      const bool is_new =
          std::ranges::none_of(charts, [&](const json& chart) { return chart.at("id") == declared.id; });
      Result<json> spec = ParseJson(declared.spec, declared.id);
      if (has_parts && is_new && spec.ok()) {
        charts.push_back(ToJson({.id = declared.id,
                                 .view = declared.view,
                                 .title = declared.title,
                                 .text = declared.text,
                                 .data = ChartData::kParts,
                                 .breakdown = declared.breakdown,
                                 .spec = *std::move(spec)}));
      }
    }
  }
}

}  // namespace

std::span<const ChartKind> ChartKinds() {
  return kChartKinds;
}

json ChartsJson(const ReportContent& content) {
  json charts = json::array();
  for (const ChartKind& kind : ChartKinds()) {
    if (std::optional<Chart> chart = kind.build(content)) {
      chart->id = kind.id;
      charts.push_back(ToJson(*chart));
    }
  }
  AddDeclared(content, charts);
  return charts;
}

}  // namespace assay::report
