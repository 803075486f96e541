#include "cli/search_options.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/options.h"
#include "explore/search/samplers.h"
#include "report/metric.h"
#include "report/pareto.h"

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

Result<Goal> GoalOf(const std::string& text, const std::vector<experiment::TargetSpec>& targets) {
  const size_t colon = text.rfind(':');
  const std::string name = text.substr(0, colon);
  const std::string way = colon == std::string::npos ? "" : text.substr(colon + 1);
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
    if (way.empty() && better == Better::kNeither) {
      return Status::InvalidArgument(fmt::format("--metric {}: say {}:max or {}:min", text, name, name));
    }
    return Goal{name, std::string(target.unit), way.empty() ? better == Better::kHigher : way == "max"};
  }
  const std::string nearest = NearestName(name, names);
  return Status::InvalidArgument(fmt::format("--metric {}: the experiments of this space do not measure it{}", name,
                                             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

/// Smaller ones are better. Of amounts it is the ratio that counts: their logarithm.
std::vector<double> ObjectivesOf(const std::vector<Goal>& goals, const samplestore::Measurement& measurement) {
  std::vector<double> objectives;
  for (const Goal& goal : goals) {
    const std::optional<double> value = report::NumberOf(measurement, goal.target);
    if (!value) {
      return {};
    }
    const double amount = *value > 0 ? std::log(*value) : *value;
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
         "What is looked for: a target property, with :max or :min; may be repeated, for the best of several at "
         "once [throughput]")
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
      goals.push_back({std::string(target.name), std::string(target.unit), true});
    }
  }
  return goals;
}

void BestSeen::Add(const samplestore::Measurement& measurement) {
  for (size_t i = 0; i < goals_.size(); ++i) {
    const std::optional<double> value = report::NumberOf(measurement, goals_[i].target);
    const bool valid = value && measurement.outcome == samplestore::Outcome::kValid;
    Best& best = best_[i];
    if (valid && (best.entity_id.empty() || (goals_[i].maximize ? *value > best.value : *value < best.value))) {
      best = {*value, measurement.entity_id};
    }
  }
}

std::string BestSeen::Text() const {
  std::string text;
  for (size_t i = 0; i < goals_.size(); ++i) {
    if (!best_[i].entity_id.empty()) {
      text += fmt::format("best {}: {}{}{} at {}\n", goals_[i].target, FormatNumber(best_[i].value),
                          goals_[i].unit.empty() ? "" : " ", goals_[i].unit, best_[i].entity_id);
    }
  }
  return text;
}

Status UseSearch(const SearchOptions& options, const experiment::BoundSpace& space, explore::ExploreOptions& explore) {
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
    details["metrics"].push_back(goal.target + (goal.maximize ? ":max" : ":min"));
  }
  explore.details = DumpJson(details);
  explore.objectives = [goals = std::move(goals)](const samplestore::Measurement& measurement) {
    return ObjectivesOf(goals, measurement);
  };
  return Status::Ok();
}

}  // namespace assay::cli
