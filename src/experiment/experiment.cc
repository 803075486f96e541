#include "experiment/experiment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"

namespace assay::experiment {

std::string PlanContext::ShareFolder() const {
  return share_dir.empty() ? ShareDirectory() : share_dir;
}

std::string PlanContext::CacheFolder() const {
  return cache_dir.empty() ? UserCacheDirectory() : cache_dir;
}

std::string PlanContext::ModelNamed(const std::string& name) const {
  const auto found = model_folders.find(name);
  return found == model_folders.end() ? name : found->second;
}

std::string PlanContext::DataNamed(const std::string& id) const {
  const std::string file = fmt::format("{}/{}.jsonl", data_folder, id);
  return !data_folder.empty() && FileExists(file) ? file : id;
}

const PropertySpec* FindProperty(const Experiment& experiment, std::string_view name) {
  const std::vector<PropertySpec>& specs = experiment.properties();
  const auto found =
      std::find_if(specs.begin(), specs.end(), [&](const PropertySpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

const PropertySpec* FindProperty(const Experiment& experiment, Role role) {
  const auto found =
      std::ranges::find(experiment.properties(), role, [](const PropertySpec& spec) { return spec.shown.role; });
  return found == experiment.properties().end() ? nullptr : &*found;
}

std::vector<const TargetSpec*> TargetsOf(Experiments experiments, Quantity quantity) {
  std::vector<const TargetSpec*> targets;
  for (const Experiment* experiment : experiments) {
    for (const TargetSpec& target : experiment->targets()) {
      if (target.quantity == quantity) {
        targets.push_back(&target);
      }
    }
  }
  std::ranges::stable_partition(targets,
                                [](const TargetSpec* target) { return target->definition == Definition::kExact; });
  return targets;
}

Status CheckSupported(const Experiment& experiment, const space::Entity& point) {
  for (const PropertySpec& spec : experiment.properties()) {
    const auto given = point.find(spec.name);
    if (spec.supported.empty() || given == point.end() ||
        std::find(spec.supported.begin(), spec.supported.end(), given->second) != spec.supported.end()) {
      continue;
    }
    std::string choices;
    for (const space::Value& value : spec.supported) {
      choices += (choices.empty() ? "" : " or ") + space::ToString(value);
    }
    return Status::Unsupported(fmt::format("{}={} is not supported yet by {}: {} {}", spec.name,
                                           space::ToString(given->second), experiment.id(),
                                           spec.supported.size() == 1 ? "leave it at" : "choose", choices));
  }
  return Status::Ok();
}

}  // namespace assay::experiment
