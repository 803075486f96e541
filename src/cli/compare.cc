// assay compare: what became faster or slower between two stores, commits, machines or spaces, and how sure that is.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "cli/verb.h"
#include "report/compare_sides.h"
#include "report/conditions.h"
#include "report/format.h"

namespace assay::cli {
namespace {

using report::Change;
using report::SideComparison;

struct CompareOptions {
  std::string before;
  std::string after;
  Selection shared;  ///< store and experiment of both sides
  std::string output;
  bool all = false;
  bool fail_if_worse = false;
};

std::string_view ToString(Change change) {
  constexpr std::string_view kNames[] = {"better", "worse", "no difference seen", "too few runs to tell"};
  return kNames[static_cast<int>(change)];
}

/// What the words for one side select.
Result<Selection> SideOf(const std::string& text, Selection side) {
  const size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (text.find("://") != std::string::npos) {
    side.store = text;
  } else if (text.ends_with(".yaml") || text.ends_with(".yml")) {
    side.space = text;
    side.experiment.clear();
  } else if (key == "commit" && !value.empty()) {
    side.commit = value;
  } else if (key == "host" && !value.empty()) {
    side.host = value;
  } else if (key == "machine" && !value.empty()) {
    side.machines = {value};
  } else {
    return Status::InvalidArgument(fmt::format(
        "'{}' is no side to compare: write a store's URL, SPACE.yaml, commit=HASH, host=NAME or machine=KIND", text));
  }
  return side;
}

Result<std::vector<samplestore::Measurement>> ReadSide(const std::string& text, const Selection& shared) {
  ASSAY_ASSIGN_OR_RETURN(const Selection side, SideOf(text, shared));
  Result<Selected> selected = Select(side, /*with_series=*/false);
  if (!selected.ok()) {
    return selected.status().WithContext(text);
  }
  if (selected->measurements.empty()) {
    return Status::NotFound(fmt::format("{}: nothing has been measured of it", text));
  }
  return std::move(selected->measurements);
}

std::string RatioText(const report::Effect& effect) {
  std::string text = report::ReadableRatio(effect.ratio);
  if (effect.interval) {
    text += fmt::format(" ({} to {})", report::ReadableRatio(effect.interval->first),
                        report::ReadableRatio(effect.interval->second));
  }
  return text;
}

void PrintOverall(const SideComparison& comparison) {
  TextTable table({"metric", "after / before", "points", "better", "worse", "over all points"});
  for (const report::OverallChange& overall : comparison.overall) {
    table.AddRow({comparison.metrics[overall.metric].Heading(), RatioText(overall.effect),
                  std::to_string(overall.effect.pairs), std::to_string(overall.better), std::to_string(overall.worse),
                  std::string(ToString(overall.change))});
  }
  fmt::print("{}", table.Render());
}

void PrintPoints(const SideComparison& comparison, bool all) {
  TextTable table({"point", "metric", "before", "after", "after / before", "p", ""});
  size_t rows = 0;
  for (const report::PointChange& change : comparison.changes) {
    if (!all && change.change != Change::kBetter && change.change != Change::kWorse) {
      continue;
    }
    const report::Metric& metric = comparison.metrics[change.metric];
    table.AddRow({comparison.points[change.point].entity_id, metric.Heading(), metric.Text(change.before.value),
                  metric.Text(change.after.value), RatioText(change.effect),
                  change.adjusted_p ? fmt::format("{:.2g}", *change.adjusted_p) : "",
                  std::string(ToString(change.change))});
    ++rows;
  }
  if (rows > 0) {
    fmt::print("\n{}", table.Render());
  }
}

void PrintRest(const SideComparison& comparison) {
  std::set<std::string> differs;
  for (const report::ComparedPoint& point : comparison.points) {
    for (const std::string& condition : point.differs) {
      differs.emplace(*report::ConditionLabel(condition));
    }
  }
  if (!differs.empty()) {
    fmt::print("\nOf the points compared, {} differ.\n", Join({differs.begin(), differs.end()}, ", "));
  }
  for (const auto& [entities, what] : {std::pair(&comparison.no_longer_valid, "valid before, not after"),
                                       {&comparison.now_valid, "valid only after"}}) {
    for (const std::string& entity : *entities) {
      fmt::print("{}: {}\n", what, entity);
    }
  }
  if (comparison.only_before + comparison.only_after > 0) {
    fmt::print("Not compared: {} measured before alone, {} after alone.\n",
               report::Count(comparison.only_before, "point"), report::Count(comparison.only_after, "point"));
  }
}

nlohmann::json EffectJson(const report::Effect& effect) {
  nlohmann::json json = {{"ratio", effect.ratio}, {"points", effect.pairs}};
  if (effect.interval) {
    json["interval"] = {effect.interval->first, effect.interval->second};
  }
  if (effect.p_value) {
    json["p_value"] = *effect.p_value;
  }
  return json;
}

nlohmann::json ToJson(const SideComparison& comparison) {
  nlohmann::json overall = nlohmann::json::array();
  for (const report::OverallChange& each : comparison.overall) {
    nlohmann::json json = EffectJson(each.effect);
    json.update({{"metric", comparison.metrics[each.metric].Heading()},
                 {"change", ToString(each.change)},
                 {"better", each.better},
                 {"worse", each.worse}});
    if (each.adjusted_p) {
      json["adjusted_p_value"] = *each.adjusted_p;
    }
    overall.push_back(std::move(json));
  }
  nlohmann::json changes = nlohmann::json::array();
  for (const report::PointChange& each : comparison.changes) {
    const report::ComparedPoint& point = comparison.points[each.point];
    nlohmann::json json = EffectJson(each.effect);
    json.update({{"experiment", point.experiment},
                 {"entity_id", point.entity_id},
                 {"differs", point.differs},
                 {"metric", comparison.metrics[each.metric].Heading()},
                 {"before", each.before.value},
                 {"after", each.after.value},
                 {"change", ToString(each.change)}});
    if (each.adjusted_p) {
      json["adjusted_p_value"] = *each.adjusted_p;
    }
    changes.push_back(std::move(json));
  }
  return {{"overall", overall},
          {"changes", changes},
          {"no_longer_valid", comparison.no_longer_valid},
          {"now_valid", comparison.now_valid},
          {"only_before", comparison.only_before},
          {"only_after", comparison.only_after}};
}

Status Run(const CompareOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto before, ReadSide(options.before, options.shared));
  ASSAY_ASSIGN_OR_RETURN(const auto after, ReadSide(options.after, options.shared));
  const SideComparison comparison = report::CompareSides(before, after);
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty(ToJson(comparison)));
  } else if (comparison.points.empty()) {
    fmt::print("No point has valid runs on both sides.\n");
    PrintRest(comparison);
  } else {
    PrintOverall(comparison);
    PrintPoints(comparison, options.all);
    PrintRest(comparison);
  }
  for (const report::PointChange& change : comparison.changes) {
    if (options.fail_if_worse && change.change == Change::kWorse) {
      return Status::Internal(fmt::format("{} is worse in {}", comparison.points[change.point].entity_id,
                                          comparison.metrics[change.metric].Heading()));
    }
  }
  return Status::Ok();
}

}  // namespace

Action AddCompare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  options->shared.all = true;
  app.add_option("before", options->before, "A store's URL, SPACE.yaml, commit=HASH, host=NAME or machine=KIND")
      ->required()
      ->type_name("A");
  app.add_option("after", options->after, "What is held against it, likewise")->required()->type_name("B");
  app.add_option("--experiment", options->shared.experiment, "Only measurements of this experiment")->type_name("ID");
  app.add_flag("--all", options->all, "List also points where no difference is seen");
  app.add_flag("--fail-if-worse", options->fail_if_worse, "End with exit code 1 when a point became worse");
  AddStoreOption(app, options->shared.store);
  AddOutputOption(app, options->output, {"table", "json"});
  app.footer(
      "Points that both sides measured are held against each other: means over runs by Welch's test, with Holm's\n"
      "correction for the number of comparisons; all points together by their ratios. One run each tells nothing: use\n"
      "assay explore --repeats 5.");
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
