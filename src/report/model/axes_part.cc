#include <algorithm>
#include <array>

#include "report/fields.h"
#include "report/model/parts.h"

namespace assay::report {
namespace {

using experiment::Role;
using nlohmann::json;

std::string_view RoleName(Role role) {
  constexpr std::array<std::string_view, 9> kNames = {"",       "model", "dataset", "series",    "batch_size",
                                                      "length", "gpus",  "machine", "time_limit"};
  return kNames.at(static_cast<size_t>(role));
}

std::string_view BetterName(Better better) {
  return better == Better::kHigher ? "higher" : better == Better::kLower ? "lower" : "";
}

}  // namespace

std::string MetricId(const Metric& metric) {
  switch (metric.kind) {
    case MetricKind::kThroughput:
      return "throughput";
    case MetricKind::kStepSeconds:
      return "step_seconds";
    case MetricKind::kPeakTensorMemory:
      return "peak_tensor_memory";
    case MetricKind::kPeakResidentMemory:
      return "peak_resident_memory";
    case MetricKind::kCpu:
      return "cpu";
    case MetricKind::kGpu:
      return "gpu";
    case MetricKind::kModelFlops:
      return "model_flops";
    case MetricKind::kHardwareFlops:
      return "hardware_flops";
    case MetricKind::kEnergyEfficiency:
      return "energy";
    case MetricKind::kLoss:
      return "loss";
    case MetricKind::kRuntime:
      return "runtime";
    default:
      return metric.property;
  }
}

json AxesPart(const ReportContent& content) {
  const Declared& declared = content.results.declared();
  const std::vector<std::string>& conditions = content.results.conditions();
  json axes = json::array();
  for (const Axis& axis : content.results.axes()) {
    json values = json::array();
    std::ranges::transform(axis.values, std::back_inserter(values), &ValueJson);
    axes.push_back({{"name", axis.property},
                    {"field", FieldOf(axis)},
                    {"label", declared.Label(axis.property)},
                    {"role", RoleName(declared.RoleOf(axis.property))},
                    {"condition", std::ranges::find(conditions, axis.property) != conditions.end()},
                    {"stands_alone", axis.property == kMethod || declared.Of(axis.property).stands_alone},
                    {"numeric", axis.IsNumeric()},
                    {"baseline", ValueJson(declared.BaselineOf(axis.property))},
                    {"values", std::move(values)}});
  }
  return axes;
}

json MetricsPart(const ReportContent& content) {
  json metrics = json::array();
  for (const Metric& metric : content.metrics) {
    metrics.push_back({{"id", MetricId(metric)},
                       {"field", FieldOf(metric)},
                       {"title", metric.title},
                       {"short_title", metric.short_title},
                       {"unit", metric.unit},
                       {"target", metric.property},
                       {"better", BetterName(BetterOf(metric.kind))}});
  }
  return metrics;
}

}  // namespace assay::report
