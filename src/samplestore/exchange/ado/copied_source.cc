// The forms are those of ado's core/samplestore/config.py, base.py and csv.py.
#include "samplestore/exchange/ado/copied_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "base/yaml.h"
#include "space/file_kind.h"

namespace assay::samplestore {
namespace {

using Map = std::map<std::string, std::string>;

/// A list of names, or a map from names to columns.
Result<Map> ReadMap(const YamlNode& parent, std::string_view key) {
  Map map;
  const Result<YamlNode> node = parent.Get(key);
  if (!node.ok() || node->IsNull()) {
    return map;
  }
  if (!node->IsSequence() && !node->IsMap()) {
    return node->Error(fmt::format("'{}' must be a list of columns, or a map from properties to columns", key));
  }
  for (const YamlNode& item : node->IsSequence() ? node->items() : std::vector<YamlNode>()) {
    ASSAY_ASSIGN_OR_RETURN(const std::string name, item.AsText());
    map[name] = name;
  }
  for (const auto& [name, column] : node->IsMap() ? node->entries() : std::vector<std::pair<std::string, YamlNode>>()) {
    ASSAY_ASSIGN_OR_RETURN(map[name], column.AsText());
  }
  return map;
}

Result<std::string> ReadRequired(const YamlNode& map, std::string_view key) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode node, map.Get(key));
  return node.AsText();
}

Result<std::string> ReadOr(const YamlNode& map, std::string_view key, std::string otherwise) {
  const Result<YamlNode> node = map.Get(key);
  return node.ok() && !node->IsNull() ? node->AsText() : Result<std::string>(std::move(otherwise));
}

/// With propertyFormat observed, columns that are not named are those of "EXPERIMENT-TARGET".
Result<CopiedExperiment> ReadExperiment(const YamlNode& node, const Map& older_properties) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"experimentIdentifier", "actuatorIdentifier", "observedPropertyMap",
                                        "propertyMap", "constitutivePropertyMap", "propertyFormat"}));
  CopiedExperiment experiment{.identifier = {}, .properties = {}, .targets = {}, .where = node.where()};
  ASSAY_ASSIGN_OR_RETURN(experiment.identifier, ReadRequired(node, "experimentIdentifier"));
  ASSAY_ASSIGN_OR_RETURN(experiment.targets,
                         ReadMap(node, node.Has("propertyMap") ? "propertyMap" : "observedPropertyMap"));
  ASSAY_ASSIGN_OR_RETURN(experiment.properties, ReadMap(node, "constitutivePropertyMap"));
  experiment.properties.insert(older_properties.begin(), older_properties.end());
  return experiment;
}

Status CheckModule(const YamlNode& source) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode module, source.Get("module"));
  ASSAY_RETURN_IF_ERROR(module.CheckKeys({"moduleClass", "moduleName", "modulePath", "moduleType"}));
  ASSAY_ASSIGN_OR_RETURN(const std::string name, ReadRequired(module, "moduleClass"));
  if (name == "CSVSampleStore") {
    return Status::Ok();
  }
  return module.Error(
      fmt::format("a {} is not read here, a CSVSampleStore is: ado show measurements space ID --output-format csv "
                  "writes one's file",
                  name));
}

std::string BesideFile(const std::string& path, const std::string& file) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

Result<CopiedSource> ReadSource(const YamlNode& node, const std::string& file) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"identifier", "module", "parameters", "storageLocation"}));
  ASSAY_RETURN_IF_ERROR(CheckModule(node));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode location, node.Get("storageLocation"));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode parameters, node.Get("parameters"));
  ASSAY_RETURN_IF_ERROR(
      parameters.CheckKeys({"identifierColumn", "generatorIdentifier", "experiments", "constitutivePropertyColumns"}));
  CopiedSource source;
  ASSAY_ASSIGN_OR_RETURN(const std::string path, ReadRequired(location, "path"));
  source.path = BesideFile(path, file);
  ASSAY_ASSIGN_OR_RETURN(source.id_column, ReadRequired(parameters, "identifierColumn"));
  ASSAY_ASSIGN_OR_RETURN(source.generator,
                         ReadOr(parameters, "generatorIdentifier", std::filesystem::path(path).filename().string()));
  ASSAY_ASSIGN_OR_RETURN(const Map older, ReadMap(parameters, "constitutivePropertyColumns"));
  const Result<YamlNode> experiments = parameters.Get("experiments");
  if (!experiments.ok() || !experiments->IsSequence() || experiments->items().empty()) {
    return parameters.Error("no 'experiments' say which columns are measurements: nothing would be copied");
  }
  for (const YamlNode& item : experiments->items()) {
    ASSAY_ASSIGN_OR_RETURN(CopiedExperiment experiment, ReadExperiment(item, older));
    source.experiments.push_back(std::move(experiment));
  }
  return source;
}

}  // namespace

Result<std::vector<CopiedSource>> ReadCopiedSources(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(YamlNode root, YamlNode::ReadFile(path));
  if (const Result<YamlNode> config = root.Get("config"); config.ok() && config->IsMap()) {
    root = *config;  // as ado prints a resource
  }
  ASSAY_RETURN_IF_ERROR(space::CheckKind(root, space::FileKind::kSampleStore));
  ASSAY_RETURN_IF_ERROR(root.CheckKeys({"specification", "copyFrom", "metadata"}));
  const Result<YamlNode> copied = root.Get("copyFrom");
  if (!copied.ok() || !copied->IsSequence() || copied->items().empty()) {
    return root.Error("nothing is copied from anywhere ('copyFrom'): a store is made when --store URL is used first");
  }
  std::vector<CopiedSource> sources;
  for (const YamlNode& item : copied->items()) {
    ASSAY_ASSIGN_OR_RETURN(CopiedSource source, ReadSource(item, path));
    sources.push_back(std::move(source));
  }
  return sources;
}

}  // namespace assay::samplestore
