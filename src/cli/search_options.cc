#include "cli/search_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/options.h"
#include "explore/search/objective.h"
#include "explore/search/samplers.h"
#include "report/metric.h"
#include "report/pareto.h"
#include "report/result_set.h"

namespace assay::cli {
namespace {

using report::Better;

/// What the experiments of `space` measure.
std::vector<experiment::TargetSpec> TargetsOf(const experiment::BoundSpace& space) {
  std::vector<experiment::TargetSpec> targets;
  for (const experiment::Experiment* experiment : space.experiments()) {
    const auto& own = experiment->declaration().targets;
    targets.insert(targets.end(), own.begin(), own.end());
  }
  return targets;
}

/// Of several runs: what one run has none of, and of which a target does not say how it is better.
bool IsSpread(const report::Aggregation* aggregation) {
  return aggregation != nullptr &&
         (std::string_view(aggregation->name) == "std" || std::string_view(aggregation->name) == "variance");
}

Result<Goal> GoalOf(const std::string& text, const std::vector<experiment::TargetSpec>& targets) {
  const size_t colon = text.rfind(':');
  const std::string metric = text.substr(0, colon);
  const std::string way = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto is_virtual = report::ParseVirtualProperty(metric);
  const std::string& name = is_virtual ? is_virtual->target : metric;
  const report::Aggregation* aggregation = is_virtual ? is_virtual->aggregation : nullptr;
  if (!way.empty() && way != "max" && way != "min") {
    return Status::InvalidArgument(fmt::format("--metric {}: a metric is NAME, NAME:max or NAME:min", text));
  }
  std::vector<std::string> names;
  for (const experiment::TargetSpec& target : targets) {
    names.emplace_back(target.name);
    if (target.name != name) {
      continue;
    }
    const Better better = report::BetterOf(target.quantity);
    if (way.empty() && (better == Better::kNeither || IsSpread(aggregation))) {
      return Status::InvalidArgument(fmt::format("--metric {}: say {}:max or {}:min", text, metric, metric));
    }
    return Goal{name, std::string(target.unit), way.empty() ? better == Better::kHigher : way == "max", target.quantity,
                aggregation};
  }
  const std::string nearest = NearestName(name, names);
  return Status::InvalidArgument(fmt::format("--metric {}: the experiments of this space do not measure it{}", name,
                                             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

/// The runs of `measurement`'s point that count and were made under the same conditions.
std::vector<samplestore::Measurement> RunsLike(const samplestore::Measurement& measurement,
                                               samplestore::SampleStore& store) {
  const auto listed = store.List({.parameterized_id = measurement.parameterized_id, .entity_id = measurement.entity_id},
                                 /*with_series=*/false);
  if (!listed.ok()) {
    return {measurement};
  }
  std::vector<samplestore::Measurement> alike;
  const report::ResultSet results(*listed);
  for (const report::Configuration& configuration : results.configurations()) {
    const bool has_it =
        std::ranges::any_of(configuration.runs, [&](const auto* run) { return run->uid == measurement.uid; });
    if (has_it) {
      std::ranges::transform(configuration.CountedRuns(), std::back_inserter(alike),
                             [](const auto* run) { return *run; });
    }
  }
  return alike;
}

/// Of the measurement, or of all runs like it.
std::optional<double> GoalValue(const Goal& goal, const samplestore::Measurement& measurement,
                                samplestore::SampleStore& store) {
  if (goal.aggregation == nullptr) {
    return report::NumberOf(measurement, goal.target);
  }
  std::vector<double> values;
  for (const samplestore::Measurement& run : RunsLike(measurement, store)) {
    if (const std::optional<double> value = report::NumberOf(run, goal.target)) {
      values.push_back(*value);
    }
  }
  const size_t least = IsSpread(goal.aggregation) ? 2 : 1;
  return values.size() < least ? std::nullopt : std::optional(goal.aggregation->of(values));
}

/// Smaller ones are better. Of amounts it is the ratio that counts; spreads are told apart down to none at all.
std::vector<double> ObjectivesOf(const std::vector<Goal>& goals, const samplestore::Measurement& measurement,
                                 samplestore::SampleStore& store) {
  std::vector<double> objectives;
  for (const Goal& goal : goals) {
    const std::optional<double> value = GoalValue(goal, measurement, store);
    if (!value) {
      return {};
    }
    const double amount = IsSpread(goal.aggregation) ? *value : explore::RatioScale(*value);
    objectives.push_back(goal.maximize ? -amount : amount);
  }
  return objectives;
}

}  // namespace

void AddSearchOptions(CLI::App& app, SearchOptions& options) {
  std::vector<std::string> names;
  std::string help = "Which points come first:";
  for (const explore::SamplerKind& kind : explore::SamplerKinds()) {
    help += fmt::format("{} {} ({})", names.empty() ? "" : ",", kind.name, kind.summary);
    names.emplace_back(kind.name);
  }
  app.add_option("--sampler", options.sampler, help)->check(CLI::IsMember(names))->capture_default_str();
  app.add_option(
         "--metric", options.metrics,
         "What is looked for: a target property, or TARGET-mean and so on over the runs of a point, with :max or :min; "
         "may be repeated, for the best of several at once [throughput]")
      ->type_name("NAME")
      ->take_all();
  app.add_option("--budget", options.budget, "Look at so many points at most, measured or replayed; -1: all")
      ->check(WholeNumber(-1))
      ->capture_default_str();
  app.add_option("--patience", options.patience, "End after so many points of which none was better; -1: never")
      ->check(WholeNumber(-1))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of what a sampler leaves to chance")->capture_default_str();
}

Result<std::vector<Goal>> GoalsOf(const SearchOptions& options, const experiment::BoundSpace& space) {
  const std::vector<experiment::TargetSpec> targets = TargetsOf(space);
  std::vector<Goal> goals;
  for (const std::string& text : options.metrics) {
    ASSAY_ASSIGN_OR_RETURN(Goal goal, GoalOf(text, targets));
    goals.push_back(std::move(goal));
  }
  for (const experiment::TargetSpec& target : targets) {
    if (goals.empty() && target.quantity == experiment::Quantity::kThroughput) {
      goals.push_back({std::string(target.name), std::string(target.unit), true, target.quantity});
    }
  }
  return goals;
}

std::string Goal::Name() const {
  return aggregation == nullptr ? target : report::VirtualPropertyName(target, *aggregation);
}

void BestSeen::Keep(size_t goal, const Best& seen, Best& best) const {
  if (best.entity_id.empty() || (goals_[goal].maximize ? seen.value > best.value : seen.value < best.value)) {
    best = seen;
  }
}

void BestSeen::Add(const samplestore::Measurement& measurement) {
  if (measurement.outcome != samplestore::Outcome::kValid) {
    return;
  }
  for (size_t i = 0; i < goals_.size(); ++i) {
    if (goals_[i].aggregation != nullptr) {
      samplestore::Measurement& latest = latest_[samplestore::KeyOf(measurement)];
      latest = measurement;
      latest.series.clear();
    } else if (const std::optional<double> value = report::NumberOf(measurement, goals_[i].target)) {
      Keep(i, {*value, measurement.entity_id}, best_[i]);
    }
  }
}

std::string BestSeen::Text() const {
  std::string text;
  for (size_t i = 0; i < goals_.size(); ++i) {
    Best best = best_[i];
    for (const auto& [key, latest] : latest_) {
      const auto value = goals_[i].aggregation == nullptr ? std::nullopt : GoalValue(goals_[i], latest, store_);
      if (value) {
        Keep(i, {*value, latest.entity_id}, best);
      }
    }
    if (!best.entity_id.empty()) {
      text += fmt::format("best {}: {}{}{} at {}\n", goals_[i].Name(), FormatNumber(best.value),
                          goals_[i].unit.empty() ? "" : " ", goals_[i].unit, best.entity_id);
    }
  }
  return text;
}

Status UseSearch(const SearchOptions& options, const experiment::BoundSpace& space, samplestore::SampleStore& store,
                 explore::ExploreOptions& explore) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<Goal> goals, GoalsOf(options, space));
  explore.budget = options.budget;
  explore.patience = options.patience;
  if (options.sampler == "sequential" && options.patience < 0) {
    return Status::Ok();
  }
  const explore::Grid grid(space);
  const int64_t count = options.budget < 0 ? grid.size() : std::min(options.budget, grid.size());
  ASSAY_ASSIGN_OR_RETURN(explore.sampler, explore::MakeSampler(options.sampler, grid, count, options.seed));
  nlohmann::json details = {{"sampler", options.sampler}, {"seed", options.seed}, {"budget", options.budget}};
  for (const Goal& goal : goals) {
    details["metrics"].push_back(goal.Name() + (goal.maximize ? ":max" : ":min"));
  }
  explore.details = DumpJson(details);
  explore.objectives = [goals = std::move(goals), &store](const samplestore::Measurement& measurement) {
    return ObjectivesOf(goals, measurement, store);
  };
  return Status::Ok();
}

}  // namespace assay::cli
