#include "report/declared.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "report/conditions.h"

namespace assay::report {

using experiment::Experiment;
using experiment::Role;
using experiment::Shown;

Declared::Declared(std::span<const samplestore::Measurement> measurements, experiment::Experiments catalogue)
    : all_(catalogue.begin(), catalogue.end()) {
  std::set<std::string_view> ids;
  for (const samplestore::Measurement& measurement : measurements) {
    ids.insert(measurement.experiment);
  }
  const auto rest = std::stable_partition(all_.begin(), all_.end(),
                                          [&](const Experiment* experiment) { return ids.contains(experiment->id()); });
  measured_ = static_cast<size_t>(rest - all_.begin());
  for (const Experiment* experiment : all_) {
    for (const experiment::PropertySpec& spec : experiment->properties()) {
      properties_.try_emplace(spec.name, Entry{&spec, properties_.size()});
    }
  }
}

const Shown& Declared::Of(std::string_view property) const {
  static const Shown kNothing;
  const auto found = properties_.find(property);
  return found == properties_.end() ? kNothing : found->second.spec->shown;
}

std::string Declared::PropertyOf(const space::Entity& entity, Role role) const {
  const auto found = std::ranges::find_if(entity, [&](const auto& entry) { return RoleOf(entry.first) == role; });
  return found == entity.end() ? "" : found->first;
}

std::vector<std::string> Declared::PropertiesWith(std::span<const Role> roles) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : properties_) {
    if (std::ranges::find(roles, entry.spec->shown.role) != roles.end()) {
      names.push_back(name);
    }
  }
  return names;
}

std::string Declared::Label(std::string_view property) const {
  const std::string& label = Of(property).label;
  return label.empty() ? std::string(ConditionLabel(property).value_or(property)) : label;
}

std::string Declared::Text(std::string_view property, const space::Value& value) const {
  if (property == kMethod || Of(property).stands_alone) {
    return space::ToString(value);
  }
  return fmt::format("{} {}", Label(property), space::ToString(value));
}

std::tuple<int, size_t, std::string> Declared::PlaceOf(const std::string& property) const {
  const Shown& shown = Of(property);
  const auto found = properties_.find(property);
  const size_t declared = found == properties_.end() ? 0 : found->second.place;
  if (property == kMethod) {
    return {1, 0, property};
  }
  if (shown.label.empty()) {
    return {ConditionLabel(property) ? 6 : 5, 0, property};
  }
  const int group = shown.role == Role::kModel ? 0 : shown.role == Role::kSeries ? 2 : shown.stands_alone ? 3 : 4;
  return {group, declared, property};
}

bool Declared::Before(const std::string& a, const std::string& b) const {
  return PlaceOf(a) < PlaceOf(b);
}

std::string Declared::MethodOf(std::string_view id) const {
  const auto found = std::ranges::find(measured(), id, [](const Experiment* experiment) { return experiment->id(); });
  return std::string(found == measured().end() || (*found)->declaration().method.empty()
                         ? id
                         : std::string_view((*found)->declaration().method));
}

space::Value Declared::BaselineOf(std::string_view property) const {
  if (property != kMethod) {
    return Of(property).baseline;
  }
  const auto found = std::ranges::find_if(
      measured(), [](const Experiment* experiment) { return experiment->declaration().is_baseline; });
  return found == measured().end() ? space::Value() : space::Value((*found)->declaration().method);
}

}  // namespace assay::report
