#include "experiment/space_paths.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/files.h"
#include "experiment/experiment.h"

namespace assay::experiment {
namespace {

namespace fs = std::filesystem;

bool Exists(const fs::path& path) {
  return FileExists(path.string()) || IsDirectory(path.string());
}

/// Whether property `name` of any of the experiments takes a path, and `text` is no name that it knows.
bool MayBePath(const std::vector<const Experiment*>& experiments, const std::string& name, const std::string& text) {
  for (const Experiment* experiment : experiments) {
    const PropertySpec* spec = FindProperty(*experiment, name);
    if (spec != nullptr && spec->is_name != nullptr && !spec->is_name(text)) {
      return true;
    }
  }
  return false;
}

class Resolver {
 public:
  Resolver(const std::vector<const Experiment*>& experiments, const std::string& source)
      : experiments_(experiments), folder_(fs::path(source).parent_path()) {}

  Status Resolve(const std::string& name, const std::string& where, space::Value& value) const {
    auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || fs::path(*text).is_absolute() || !MayBePath(experiments_, name, *text)) {
      return Status::Ok();
    }
    if (const fs::path beside = folder_ / *text; Exists(beside)) {
      *text = fs::absolute(beside).lexically_normal().string();
      return Status::Ok();
    }
    if (Exists(*text)) {
      return Status::NotFound(
          fmt::format("{}: {}: {} does not exist beside the space; relative paths in a space begin at its own folder",
                      where, name, *text));
    }
    return Status::Ok();
  }

 private:
  const std::vector<const Experiment*>& experiments_;
  fs::path folder_;
};

}  // namespace

Status ResolvePaths(const std::vector<const Experiment*>& experiments, space::DiscoverySpace& space) {
  const Resolver resolver(experiments, space.source);
  for (space::Property& property : space.properties) {
    if (property.domain.type() != space::VariableType::kCategorical || !property.domain.size()) {
      continue;
    }
    std::vector<space::Value> values;
    for (int64_t i = 0; i < *property.domain.size(); ++i) {
      values.push_back(property.domain.At(i));
      ASSAY_RETURN_IF_ERROR(resolver.Resolve(property.identifier, property.where, values.back()));
    }
    ASSAY_ASSIGN_OR_RETURN(property.domain, space::Domain::Values(std::move(values)));
  }
  for (space::ExperimentReference& experiment : space.experiments) {
    for (auto& [name, value] : experiment.parameterization) {
      ASSAY_RETURN_IF_ERROR(resolver.Resolve(name, experiment.parameter_where[name], value));
    }
  }
  return Status::Ok();
}

}  // namespace assay::experiment
