#include "experiment/point.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"

namespace assay::experiment {
namespace {

Status UnknownProperty(const Experiment& experiment, const std::string& name) {
  std::vector<std::string> known;
  for (const PropertySpec& spec : experiment.properties()) {
    known.push_back(spec.name);
  }
  const std::string nearest = NearestName(name, known);
  return Status::InvalidArgument(fmt::format("{} has no property '{}'{} (see assay experiments {})", experiment.id(),
                                             name, nearest.empty() ? "" : fmt::format(": did you mean '{}'?", nearest),
                                             experiment.id()));
}

/// "./models/m/" to "/home/u/models/m".
std::string AbsolutePath(const std::string& path) {
  std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
  return (absolute.has_filename() ? absolute : absolute.parent_path()).string();
}

space::Value WithAbsolutePath(const PropertySpec& spec, space::Value value) {
  const auto* text = std::get_if<std::string>(&value);
  if (spec.is_name == nullptr || text == nullptr || spec.is_name(*text) ||
      (!FileExists(*text) && !IsDirectory(*text))) {
    return value;
  }
  return AbsolutePath(*text);
}

Result<space::Entity> CanonicalEntity(const Experiment& experiment, const space::Entity& given) {
  space::Entity entity;
  for (const auto& [name, value] : given) {
    ASSAY_ASSIGN_OR_RETURN(entity[name], CanonicalValue(experiment, name, value));
  }
  return entity;
}

/// The reference gives every optional its default; a required property has none.
Status FillIn(const Experiment& experiment, space::Entity& point) {
  std::string missing;
  for (const PropertySpec& spec : experiment.properties()) {
    if (point.contains(spec.name)) {
      continue;
    }
    if (spec.required) {
      missing += (missing.empty() ? "" : ", ") + spec.name;
    } else {
      point[spec.name] = spec.default_value;
    }
  }
  if (!missing.empty()) {
    return Status::InvalidArgument(
        fmt::format("{} needs a value for {} (see assay experiments {})", experiment.id(), missing, experiment.id()));
  }
  return Status::Ok();
}

}  // namespace

Result<space::Value> CanonicalValue(const Experiment& experiment, const std::string& name, const space::Value& value) {
  const PropertySpec* spec = FindProperty(experiment, name);
  if (spec == nullptr) {
    return UnknownProperty(experiment, name);
  }
  Result<space::Value> canonical = spec->domain.Canonical(value);
  if (!canonical.ok()) {
    return canonical.status().WithContext(name);
  }
  return WithAbsolutePath(*spec, *std::move(canonical));
}

std::string ParameterizedId(const Experiment& experiment, const space::Entity& parameterization) {
  std::string id = experiment.id();
  for (const auto& [name, value] : parameterization) {
    const PropertySpec* spec = FindProperty(experiment, name);
    if (spec == nullptr || value != spec->default_value) {
      id += fmt::format("-{}.{}", name, space::ToString(value));
    }
  }
  return id;
}

Result<BoundPoint> BindPoint(const Experiment& experiment, const space::Entity& entity,
                             const space::Entity& parameterization) {
  BoundPoint point;
  point.experiment = &experiment;
  ASSAY_ASSIGN_OR_RETURN(point.entity, CanonicalEntity(experiment, entity));
  ASSAY_ASSIGN_OR_RETURN(const space::Entity parameters, CanonicalEntity(experiment, parameterization));
  point.entity_id = space::EntityId(point.entity);
  point.parameterized_id = ParameterizedId(experiment, parameters);
  point.parameters = parameters;
  std::erase_if(point.parameters, [&](const auto& parameter) {
    return parameter.second == FindProperty(experiment, parameter.first)->default_value;
  });
  point.complete = point.entity;
  point.complete.insert(parameters.begin(), parameters.end());
  ASSAY_RETURN_IF_ERROR(FillIn(experiment, point.complete));
  return point;
}

Result<BoundPoint> BindPoint(const Experiment& experiment, const std::map<std::string, std::string>& texts) {
  space::Entity entity;
  space::Entity parameterization;
  for (const auto& [name, text] : texts) {
    const PropertySpec* spec = FindProperty(experiment, name);
    if (spec == nullptr) {
      return UnknownProperty(experiment, name);
    }
    (spec->required ? entity : parameterization)[name] = space::ValueFromText(text);
  }
  return BindPoint(experiment, entity, parameterization);
}

}  // namespace assay::experiment
