#include <algorithm>
#include <map>

#include "report/cell_state.h"
#include "report/model/parts.h"

namespace assay::report {
namespace {

using nlohmann::json;

/// Columns of one metric; null where a configuration has no value, and of errors where it has no interval.
json EstimateColumns(const ReportContent& content, size_t metric) {
  json columns;
  for (const char* name : {"value", "low", "high", "n", "basis", "error", "freedom"}) {
    columns[name] = json::array();
  }
  for (const Configuration& configuration : content.results.configurations()) {
    const std::optional<Estimate>& estimate = content.estimates.At(configuration.index, metric);
    const bool sure = estimate && estimate->has_interval();
    columns["value"].push_back(estimate ? Rounded(estimate->value) : json());
    columns["n"].push_back(estimate ? json(estimate->samples) : json());
    columns["basis"].push_back(estimate ? json(BasisName(estimate->basis)) : json());
    columns["low"].push_back(sure ? Rounded(estimate->low) : json());
    columns["high"].push_back(sure ? Rounded(estimate->high) : json());
    columns["error"].push_back(sure ? Rounded(estimate->standard_error) : json());
    columns["freedom"].push_back(sure ? Rounded(estimate->degrees_of_freedom) : json());
  }
  // Most metrics have no interval anywhere.
  for (const char* name : {"low", "high", "error", "freedom"}) {
    if (std::ranges::all_of(columns[name], [](const json& value) { return value.is_null(); })) {
      columns[name] = nullptr;
    }
  }
  return columns;
}

/// A text of each configuration as a place in a list, so that a reason of 300 is written once.
class TextColumn {
 public:
  void Add(std::string_view text) {
    const auto [at, is_new] = places_.emplace(text, places_.size());
    if (is_new) {
      texts_.push_back(text);
    }
    column_.push_back(at->second);
  }
  json Texts() && { return std::move(texts_); }
  json Column() && { return std::move(column_); }

 private:
  std::map<std::string, size_t, std::less<>> places_;
  json texts_ = json::array();
  json column_ = json::array();
};

}  // namespace

std::string_view BasisName(Basis basis) {
  return basis == Basis::kRuns ? "runs" : basis == Basis::kReported ? "steps" : "none";
}

json CodesJson(const std::vector<uint32_t>& codes, const Axis& axis) {
  json column = json::array();
  for (const uint32_t code : codes) {
    column.push_back(code < axis.values.size() ? static_cast<int64_t>(code) : -1);
  }
  return column;
}

json ConfigurationsPart(const ReportContent& content) {
  const auto& configurations = content.results.configurations();
  json part = {{"count", configurations.size()}, {"axes", json::object()}, {"estimates", json::object()},
               {"state", json::array()},         {"runs", json::array()},  {"starved", json::array()}};
  for (const Axis& axis : content.results.axes()) {
    part["axes"][axis.property] = CodesJson(axis.codes, axis);
  }
  TextColumn reasons;
  for (const Configuration& configuration : configurations) {
    part["state"].push_back(ToString(StateOf(configuration)));
    part["runs"].push_back(configuration.runs.size());
    reasons.Add(configuration.reason());
    if (configuration.IsStarved()) {
      part["starved"].push_back(configuration.index);
    }
  }
  part["group"] = ConditionGroups(content.results);
  part["reasons"] = std::move(reasons).Texts();
  part["reason"] = std::move(reasons).Column();
  for (size_t i = 0; i < content.metrics.size(); ++i) {
    part["estimates"][MetricId(content.metrics[i])] = EstimateColumns(content, i);
  }
  return part;
}

json UnmeasuredPart(const ReportContent& content) {
  json part = {{"count", content.results.unmeasured().size()}, {"axes", json::object()}};
  for (const Axis& axis : content.results.axes()) {
    part["axes"][axis.property] = CodesJson(axis.unmeasured, axis);
  }
  return part;
}

}  // namespace assay::report
