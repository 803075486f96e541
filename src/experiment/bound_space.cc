#include <fmt/format.h>

#include <algorithm>

#include "experiment/catalogue.h"
#include "experiment/point.h"

namespace assay::experiment {
namespace {

Status Located(const std::string& where, const Status& status) {
  return status.WithContext(where);
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

Result<BoundSpace> BoundSpace::Bind(space::DiscoverySpace space) {
  BoundSpace bound;
  for (const space::ExperimentReference& reference : space.experiments) {
    const Result<const Experiment*> found = FindExperiment(reference.identifier);
    if (!found.ok()) {
      return Located(reference.where, found.status());
    }
    const Experiment& experiment = **found;
    ASSAY_RETURN_IF_ERROR(CheckProperties(space, experiment));
    ASSAY_ASSIGN_OR_RETURN(space::Entity parameters, BindParameters(reference, experiment));
    std::string id = ParameterizedId(experiment, parameters);
    if (std::find(bound.parameterized_ids_.begin(), bound.parameterized_ids_.end(), id) !=
        bound.parameterized_ids_.end()) {
      return Located(reference.where,
                     Status::InvalidArgument(fmt::format("{} stands in this space twice: remove one of the two", id)));
    }
    bound.experiments_.push_back(&experiment);
    bound.parameterizations_.push_back(std::move(parameters));
    bound.parameterized_ids_.push_back(std::move(id));
  }
  ASSAY_ASSIGN_OR_RETURN(const int64_t points, space.PointCount());
  bound.size_ = points * static_cast<int64_t>(bound.experiments_.size());
  bound.space_ = std::move(space);
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

Result<BoundSpace> ReadBoundSpace(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(space::DiscoverySpace space, space::ReadDiscoverySpace(path));
  return BoundSpace::Bind(std::move(space));
}

}  // namespace assay::experiment
