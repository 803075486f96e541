#include "explore/repeated_mean.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace assay::explore {
namespace {

std::optional<double> ValueOf(const samplestore::Measurement& run, const std::string& target) {
  const auto found = run.properties.find(target);
  if (found == run.properties.end()) {
    return std::nullopt;
  }
  const auto* whole = std::get_if<int64_t>(&found->second);
  const auto* real = std::get_if<double>(&found->second);
  return whole != nullptr  ? std::optional(static_cast<double>(*whole))
         : real != nullptr ? std::optional(*real)
                           : std::nullopt;
}

/// The named target of `experiment`, or of its throughputs the first that the runs have.
const experiment::TargetSpec* TargetOf(const experiment::Experiment& experiment,
                                       std::span<const samplestore::Measurement> runs, const std::string& name) {
  if (!name.empty()) {
    const auto& targets = experiment.declaration().targets;
    const auto found = std::ranges::find(targets, name, &experiment::TargetSpec::name);
    return found == targets.end() ? nullptr : &*found;
  }
  const experiment::Experiment* const only = &experiment;
  for (const auto* target : experiment::TargetsOf({&only, 1}, experiment::Quantity::kThroughput)) {
    if (!runs.empty() && ValueOf(runs.front(), std::string(target->name))) {
      return target;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<RepeatedMean> LookAtRuns(const experiment::Experiment& experiment,
                                       std::span<const samplestore::Measurement> runs, const RepeatUntil& until) {
  const experiment::TargetSpec* const target = TargetOf(experiment, runs, until.target);
  if (target == nullptr) {
    return std::nullopt;
  }
  RepeatedMean mean{.target = std::string(target->name), .unit = std::string(target->unit), .estimate = {}};
  std::vector<double> values;
  for (const samplestore::Measurement& run : runs) {
    const std::optional<double> value = ValueOf(run, mean.target);
    if (!value || std::ssize(values) == until.at_most) {
      continue;
    }
    values.push_back(*value);
    mean.estimate = measure::SequentialInterval(values, until.at_most);
    mean.narrow = mean.estimate.has_interval() && mean.relative_half_width() <= until.interval;
    if (mean.narrow) {
      break;
    }
  }
  return !values.empty() && mean.estimate.has_interval() ? std::optional(std::move(mean)) : std::nullopt;
}

Result<std::optional<RepeatedMean>> LookAtPoint(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                                                const MeasureOptions& options, const RepeatUntil& until) {
  const samplestore::Facts here = FactsHere(point, options);
  ASSAY_ASSIGN_OR_RETURN(
      std::vector<samplestore::Measurement> runs,
      store.List({.parameterized_id = point.parameterized_id, .entity_id = point.entity_id}, /*with_series=*/false));
  std::erase_if(runs, [&](const samplestore::Measurement& run) {
    return run.outcome != samplestore::Outcome::kValid || !samplestore::Agrees(run.depends_on, here);
  });
  std::ranges::sort(runs, {}, &samplestore::Measurement::arrival);
  return LookAtRuns(*point.experiment, runs, until);
}

Status CheckTarget(const experiment::BoundSpace& space, const std::string& target) {
  std::vector<std::string> names;
  for (const experiment::Experiment* experiment : space.experiments()) {
    for (const experiment::TargetSpec& known : experiment->declaration().targets) {
      names.emplace_back(known.name);
    }
  }
  if (std::ranges::find(names, target) != names.end()) {
    return Status::Ok();
  }
  const std::string nearest = NearestName(target, names);
  return Status::InvalidArgument(fmt::format("no experiment of this space measures {}{}", target,
                                             nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

}  // namespace assay::explore
