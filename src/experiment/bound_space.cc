#include <fmt/format.h>

#include <algorithm>

#include "experiment/catalogue.h"
#include "experiment/point.h"
#include "experiment/space_paths.h"

namespace assay::experiment {
namespace {

Status Located(const std::string& where, const Status& status) {
  return status.WithContext(where);
}

Result<std::vector<const Experiment*>> FindExperiments(const space::DiscoverySpace& space, Experiments catalogue) {
  std::vector<const Experiment*> experiments;
  for (const space::ExperimentReference& reference : space.experiments) {
    const Result<const Experiment*> found = FindExperiment(reference.identifier, catalogue);
    if (!found.ok()) {
      return Located(reference.where, found.status());
    }
    experiments.push_back(*found);
  }
  return experiments;
}

/// Every property must be one of the experiment's, with a domain inside the experiment's.
Status CheckProperties(const space::DiscoverySpace& space, const Experiment& experiment) {
  for (const space::Property& property : space.properties) {
    const PropertySpec* spec = FindProperty(experiment, property.identifier);
    if (spec == nullptr) {
      return Located(property.where, CanonicalValue(experiment, property.identifier, {}).status());
    }
    ASSAY_RETURN_IF_ERROR(
        Located(property.where, property.domain.CheckSubDomainOf(spec->domain).WithContext(property.identifier)));
  }
  return Status::Ok();
}

Result<space::Entity> BindParameters(const space::ExperimentReference& reference, const Experiment& experiment) {
  space::Entity parameters;
  for (const auto& [name, value] : reference.parameterization) {
    Result<space::Value> canonical = CanonicalValue(experiment, name, value);
    if (!canonical.ok()) {
      return Located(reference.parameter_where.at(name), canonical.status());
    }
    if (*canonical != FindProperty(experiment, name)->default_value) {
      parameters[name] = *std::move(canonical);
    }
  }
  return parameters;
}

}  // namespace

Result<BoundSpace> BoundSpace::Bind(space::DiscoverySpace space, Experiments catalogue) {
  BoundSpace bound;
  ASSAY_ASSIGN_OR_RETURN(const std::vector<const Experiment*> experiments, FindExperiments(space, catalogue));
  ASSAY_RETURN_IF_ERROR(ResolvePaths(experiments, space));
  for (const space::ExperimentReference& reference : space.experiments) {
    const Experiment& experiment = *experiments[&reference - space.experiments.data()];
    ASSAY_RETURN_IF_ERROR(CheckProperties(space, experiment));
    ASSAY_ASSIGN_OR_RETURN(space::Entity parameters, BindParameters(reference, experiment));
    std::string id = ParameterizedId(experiment, parameters);
    if (std::find(bound.parameterized_ids_.begin(), bound.parameterized_ids_.end(), id) !=
        bound.parameterized_ids_.end()) {
      return Located(reference.where,
                     Status::InvalidArgument(fmt::format("{} stands in this space twice: remove one of the two", id)));
    }
    bound.parameterizations_.push_back(std::move(parameters));
    bound.parameterized_ids_.push_back(std::move(id));
  }
  bound.experiments_ = experiments;
  ASSAY_ASSIGN_OR_RETURN(const int64_t points, space.PointCount());
  if (__builtin_mul_overflow(points, std::ssize(bound.experiments_), &bound.size_)) {
    return Status::InvalidArgument(fmt::format("{}: the space has 2^63 points or more", space.source));
  }
  bound.space_ = std::move(space);
  bound.FindPaths();
  for (size_t i = 0; i < bound.experiments_.size(); ++i) {
    const Status complete =
        BindPoint(*bound.experiments_[i], bound.space_.Point(0), bound.parameterizations_[i]).status();
    ASSAY_RETURN_IF_ERROR(Located(bound.space_.experiments[i].where, complete));
  }
  return bound;
}

BoundPoint BoundSpace::At(int64_t index) const {
  const auto experiments = static_cast<int64_t>(experiments_.size());
  const size_t experiment = static_cast<size_t>(index % experiments);
  Result<BoundPoint> point =
      BindPoint(*experiments_[experiment], space_.Point(index / experiments), parameterizations_[experiment]);
  return *std::move(point);
}

void BoundSpace::FindPaths() {
  for (const space::Property& property : space_.properties) {
    if (FindProperty(*experiments_.front(), property.identifier)->is_name == nullptr) {
      continue;
    }
    for (int64_t i = 0; i < *property.domain.size(); ++i) {
      const auto canonical = CanonicalValue(*experiments_.front(), property.identifier, property.domain.At(i));
      if (canonical.ok()) {
        paths_[property.identifier].emplace(*canonical, i);
      }
    }
  }
}

std::optional<int64_t> BoundSpace::PositionOf(const space::Property& property, const space::Value& value) const {
  const auto paths = paths_.find(property.identifier);
  if (paths == paths_.end()) {
    return property.domain.IndexOf(value);
  }
  const auto found = paths->second.find(value);
  return found == paths->second.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> BoundSpace::IndexOf(const std::string& parameterized_id, const space::Entity& entity) const {
  const auto experiment = std::find(parameterized_ids_.begin(), parameterized_ids_.end(), parameterized_id);
  if (experiment == parameterized_ids_.end() || entity.size() != space_.properties.size()) {
    return std::nullopt;
  }
  int64_t point = 0;
  for (const space::Property& property : space_.properties) {
    const auto value = entity.find(property.identifier);
    const auto position = value == entity.end() ? std::nullopt : PositionOf(property, value->second);
    if (!position) {
      return std::nullopt;
    }
    point = point * *property.domain.size() + *position;
  }
  return point * static_cast<int64_t>(experiments_.size()) + (experiment - parameterized_ids_.begin());
}

Result<BoundSpace> ReadBoundSpace(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(space::DiscoverySpace space, space::ReadDiscoverySpace(path));
  return BoundSpace::Bind(std::move(space));
}

}  // namespace assay::experiment
