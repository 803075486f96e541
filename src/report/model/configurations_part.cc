#include <algorithm>
#include <map>

#include "report/cell_state.h"
#include "report/model/parts.h"

namespace assay::report {
namespace {

using nlohmann::json;

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

json EstimateColumns(std::span<const std::optional<Estimate>> estimates) {
  const auto column = [&](const auto& cell_of) {
    json::array_t cells;
    cells.reserve(estimates.size());
    for (const std::optional<Estimate>& estimate : estimates) {
      cells.push_back(estimate ? json(cell_of(*estimate)) : json());
    }
    return cells;
  };
  // Most metrics have no interval anywhere.
  const bool are_sure = std::ranges::any_of(
      estimates, [](const std::optional<Estimate>& estimate) { return estimate && estimate->has_interval(); });
  const auto of_interval = [&](double Estimate::* part) {
    return are_sure ? json(column([&](const Estimate& estimate) {
      return estimate.has_interval() ? Rounded(estimate.*part) : json();
    }))
                    : json();
  };
  return {{"value", column([](const Estimate& estimate) { return Rounded(estimate.value); })},
          {"n", column([](const Estimate& estimate) { return estimate.samples; })},
          {"basis", column([](const Estimate& estimate) { return BasisName(estimate.basis); })},
          {"low", of_interval(&Estimate::low)},
          {"high", of_interval(&Estimate::high)},
          {"error", of_interval(&Estimate::standard_error)},
          {"freedom", of_interval(&Estimate::degrees_of_freedom)}};
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
    std::vector<std::optional<Estimate>> column;
    for (const Configuration& configuration : configurations) {
      column.push_back(content.estimates.At(configuration.index, i));
    }
    part["estimates"][MetricId(content.metrics[i])] = EstimateColumns(column);
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
