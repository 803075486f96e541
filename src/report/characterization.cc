#include "report/characterization.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "measure/significance.h"
#include "report/format.h"
#include "report/pareto.h"
#include "space/entity.h"
#include "space/number.h"

namespace assay::report {
namespace {

using nlohmann::json;

json OrNull(const std::optional<double>& number) {
  return number ? json(*number) : json();
}

/// Sets the adjusted p-values of those that have one.
void Adjust(std::vector<ScalingStep>& steps) {
  std::vector<double> p_values;
  for (const ScalingStep& step : steps) {
    if (step.speedup.p_value) {
      p_values.push_back(*step.speedup.p_value);
    }
  }
  const std::vector<double> adjusted = measure::HolmAdjusted(p_values, std::ssize(steps));
  size_t next = 0;
  for (ScalingStep& step : steps) {
    if (step.speedup.p_value) {
      step.adjusted_p_value = adjusted[next++];
    }
  }
}

json SidesJson(const Comparison& comparison) {
  return {{"property", comparison.property},
          {"from", space::ToJson(comparison.from)},
          {"to", space::ToJson(comparison.to)}};
}

json ScalingJson(const std::vector<ScalingStep>& steps) {
  json list = json::array();
  for (const ScalingStep& step : steps) {
    list.push_back(SidesJson(step.comparison));
    list.back().update({{"pairs", step.speedup.pairs},
                        {"speedup", step.speedup.ratio},
                        {"efficiency", step.efficiency},
                        {"interval", step.interval ? json{step.interval->first, step.interval->second} : json()},
                        {"adjusted_p", OrNull(step.adjusted_p_value)}});
  }
  return list;
}

json PairsJson(const Findings& findings) {
  json list = json::array();
  for (const Finding& finding : findings.list) {
    if (finding.comparison) {
      list.push_back(SidesJson(*finding.comparison));
      list.back().update({{"headline", finding.headline},
                          {"detail", finding.detail},
                          {"strength", ToString(finding.strength)},
                          {"p", OrNull(finding.p_value)},
                          {"adjusted_p", OrNull(finding.adjusted_p_value)}});
    }
  }
  return list;
}

json FrontsJson(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates) {
  json list = json::array();
  for (const Front& front : FindFronts(results, metrics, estimates)) {
    json configurations = json::array();
    for (const size_t at : front.configurations) {
      configurations.push_back({{"label", results.Label(results.configurations()[at])},
                                {"x", estimates.At(at, front.x)->value},
                                {"y", estimates.At(at, front.y)->value}});
    }
    list.push_back({{"x", metrics[front.x].Heading()},
                    {"y", metrics[front.y].Heading()},
                    {"configurations", std::move(configurations)}});
  }
  return list;
}

/// Of a number that may be missing.
std::string OrNothing(const json& number) {
  return number.is_null() ? "" : fmt::format("{:.2g}", number.get<double>());
}

/// Where speed, memory and energy stand among metrics, and which of them do not.
struct ResourceMetrics {
  std::vector<size_t> places;
  std::vector<std::string> missing;
};

ResourceMetrics FindResources(const std::vector<Metric>& metrics) {
  ResourceMetrics found;
  for (const auto& [kind, name] : {std::pair(MetricKind::kThroughput, "speed"),
                                   {MetricKind::kPeakTensorMemory, "memory"},
                                   {MetricKind::kEnergyEfficiency, "energy"}}) {
    if (const Metric* const metric = FindMetric(metrics, kind)) {
      found.places.push_back(static_cast<size_t>(metric - metrics.data()));
    } else {
      found.missing.emplace_back(name);
    }
  }
  return found;
}

json ResourcesJson(const ResultSet& results, const std::vector<Metric>& metrics, const Estimates& estimates) {
  const auto [objectives, missing] = FindResources(metrics);
  if (!missing.empty()) {
    return {{"missing", missing}};
  }
  json resources = {{"metrics", json::array()}, {"configurations", json::array()}};
  for (const size_t metric : objectives) {
    resources["metrics"].push_back(metrics[metric].Heading());
  }
  for (const size_t at : NothingBeats(results, metrics, estimates, objectives)) {
    json values = json::array();
    for (const size_t metric : objectives) {
      values.push_back(estimates.At(at, metric)->value);
    }
    resources["configurations"].push_back(
        {{"label", results.Label(results.configurations()[at])}, {"values", std::move(values)}});
  }
  size_t unknown = 0;
  for (size_t i = 0; i < results.configurations().size(); ++i) {
    unknown += estimates.At(i, objectives[0]) && !estimates.At(i, objectives[2]) ? 1 : 0;
  }
  resources["unknown"] = unknown;
  return resources;
}

std::string ScalingText(const json& steps) {
  TextTable table({"property", "from", "to", "pairs", "speed-up", "efficiency", "p"});
  for (const json& step : steps) {
    std::string efficiency = fmt::format("{:.3g} %", 100 * step.at("efficiency").get<double>());
    if (const json& interval = step.at("interval"); !interval.is_null()) {
      efficiency +=
          fmt::format(" ({:.3g} to {:.3g})", 100 * interval.at(0).get<double>(), 100 * interval.at(1).get<double>());
    }
    table.AddRow({step.at("property").get<std::string>(), step.at("from").dump(), step.at("to").dump(),
                  step.at("pairs").dump(), ReadableRatio(step.at("speedup").get<double>()), efficiency,
                  OrNothing(step.at("adjusted_p"))});
  }
  return steps.empty() ? "" : fmt::format("Scaling\n{}\n", table.Render());
}

std::string FrontText(const json& front) {
  const auto x = front.at("x").get<std::string>();
  const auto y = front.at("y").get<std::string>();
  TextTable table({"configuration", x, y});
  for (const json& each : front.at("configurations")) {
    table.AddRow({each.at("label").get<std::string>(), Readable(each.at("x").get<double>()),
                  Readable(each.at("y").get<double>())});
  }
  return fmt::format("\nNothing beats in {} and {}\n{}", x, y, table.Render());
}

std::string ResourcesText(const json& resources) {
  if (resources.contains("missing")) {
    const auto missing = resources.at("missing").get<std::vector<std::string>>();
    return fmt::format("\nNo front of speed, memory and energy: not measured: {}{}\n", Join(missing, ", "),
                       missing.back() == "energy" ? ", which GPUs alone tell" : "");
  }
  const auto metrics = resources.at("metrics").get<std::vector<std::string>>();
  std::vector<std::string> heading = {"configuration"};
  heading.insert(heading.end(), metrics.begin(), metrics.end());
  TextTable table(heading);
  for (const json& each : resources.at("configurations")) {
    std::vector<std::string> row = {each.at("label").get<std::string>()};
    for (const json& value : each.at("values")) {
      row.push_back(Readable(value.get<double>()));
    }
    table.AddRow(row);
  }
  const auto unknown = resources.at("unknown").get<size_t>();
  return fmt::format(
      "\nNothing beats in {} at once\n{}{}", Join(metrics, ", "), table.Render(),
      unknown == 0 ? "" : fmt::format("{} without a measured energy\n", Count(unknown, "configuration")));
}

std::string FullText(const json& characterization) {
  std::string text = ScalingText(characterization.at("scaling"));
  for (const json& pair : characterization.at("pairs")) {
    text += fmt::format("[{}] {} {}\n", pair.at("strength").get<std::string>(), pair.at("headline").get<std::string>(),
                        pair.at("detail").get<std::string>());
  }
  for (const json& front : characterization.at("fronts")) {
    text += FrontText(front);
  }
  const bool any = !characterization.at("fronts").empty();
  const auto resources = characterization.find("resources");  // which older ones have not
  return any && resources != characterization.end() && resources->is_object() ? text + ResourcesText(*resources) : text;
}

/// From the first of `values`, of which nothing need have been measured, to each of the others.
std::vector<ScalingStep> StepsFrom(const ResultSet& results, const Axis& ranks, const Metric& throughput,
                                   std::span<const space::Value> values) {
  std::vector<ScalingStep> steps;
  for (const space::Value& value : values.subspan(1)) {
    Comparison comparison = Compare(results, ranks.property, values.front(), value);
    const std::optional<Effect> effect = EffectOn(MatchedPairs(results, comparison), throughput);
    if (!effect) {
      continue;
    }
    const double ideal = *space::NumberOf(value) / *space::NumberOf(values.front());
    ScalingStep& step = steps.emplace_back(std::move(comparison), *effect, effect->ratio / ideal);
    if (effect->interval) {
      step.interval = {effect->interval->first / ideal, effect->interval->second / ideal};
    }
  }
  return steps;
}

}  // namespace

const Axis* RanksAxis(const ResultSet& results) {
  for (const Axis& axis : results.axes()) {
    const experiment::Role role = results.declared().RoleOf(axis.property);
    if ((role == experiment::Role::kGpus || role == experiment::Role::kMachine) && axis.IsNumeric()) {
      return &axis;
    }
  }
  return nullptr;
}

std::vector<ScalingStep> FindScaling(const ResultSet& results, const std::vector<Metric>& metrics) {
  const Axis* const ranks = RanksAxis(results);
  const Metric* const throughput = FindMetric(metrics, MetricKind::kThroughput);
  std::vector<ScalingStep> steps;
  if (ranks == nullptr || throughput == nullptr) {
    return steps;
  }
  std::vector<space::Value> values = ranks->values;
  std::erase_if(values, [](const space::Value& value) { return space::NumberOf(value).value_or(0) <= 0; });  // the CPU
  for (size_t fewest = 0; fewest < values.size() && steps.empty(); ++fewest) {
    steps = StepsFrom(results, *ranks, *throughput, std::span(values).subspan(fewest));
  }
  Adjust(steps);
  return steps;
}

json CharacterizationJson(const ResultSet& results) {
  const std::vector<Metric> metrics = ResolveMetrics(results);
  const Estimates estimates(results, metrics);
  const Findings findings = FindFindings(results, metrics, estimates);
  return {{"points", results.configurations().size()},
          {"valid", results.CountOf(samplestore::Outcome::kValid)},
          {"comparisons", findings.comparisons},
          {"scaling", ScalingJson(FindScaling(results, metrics))},
          {"pairs", PairsJson(findings)},
          {"fronts", FrontsJson(results, metrics, estimates)},
          {"resources", ResourcesJson(results, metrics, estimates)}};
}

std::string CharacterizationText(const json& characterization) {
  try {
    return FullText(characterization);
  } catch (const json::exception&) {
    return "";
  }
}

}  // namespace assay::report
