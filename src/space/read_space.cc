// Reads the YAML of a discovery space. Every function turns one node of the document into one part of the space.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/yaml.h"
#include "space/discovery_space.h"
#include "space/file_kind.h"
#include "space/number.h"

namespace assay::space {
namespace {

/// Experiments take lists (`fast_kernels: [True, True, False]`) as one text: "True,True,False".
Result<Value> ReadValue(const YamlNode& node) {
  if (node.IsMap()) {
    return node.Error("expected a value, not a map");
  }
  if (!node.IsSequence()) {
    Result<Value> value = ValueFromJson(node.ToJson());
    return value.ok() ? value : node.Error(value.status().message());
  }
  std::vector<std::string> parts;
  for (const YamlNode& item : node.items()) {
    ASSAY_ASSIGN_OR_RETURN(const Value part, ReadValue(item));
    parts.push_back(ToString(part));
  }
  return Value(Join(parts, ","));
}

Result<std::string> ReadText(const YamlNode& map, std::string_view key) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode node, map.Get(key));
  return node.AsText();
}

Status ReadOptionalText(const YamlNode& map, std::string_view key, std::string& target) {
  const Result<YamlNode> node = map.Get(key);
  if (node.ok() && !node->IsNull()) {
    ASSAY_ASSIGN_OR_RETURN(target, node->AsText());
  }
  return Status::Ok();
}

Result<std::vector<YamlNode>> ReadList(const YamlNode& map, std::string_view key) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode node, map.Get(key));
  if (!node.IsSequence() || node.items().empty()) {
    return node.Error(fmt::format("'{}' must be a list with at least one item", key));
  }
  return node.items();
}

Result<Domain> ReadValues(const YamlNode& domain) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<YamlNode> items, ReadList(domain, "values"));
  std::vector<Value> values;
  for (const YamlNode& item : items) {
    ASSAY_ASSIGN_OR_RETURN(Value value, ReadValue(item));
    values.push_back(std::move(value));
  }
  return Domain::Values(std::move(values));
}

Result<Domain> ReadRange(const YamlNode& domain) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode range, domain.Get("domainRange"));
  const std::vector<YamlNode> ends = range.items();
  if (ends.size() != 2) {
    return range.Error("'domainRange' must be a list of two numbers: [first, end), the end not included");
  }
  ASSAY_ASSIGN_OR_RETURN(const double minimum, ends[0].AsNumber());
  ASSAY_ASSIGN_OR_RETURN(const double maximum, ends[1].AsNumber());
  std::optional<double> interval;
  if (const Result<YamlNode> node = domain.Get("interval"); node.ok() && !node->IsNull()) {
    ASSAY_ASSIGN_OR_RETURN(interval, node->AsNumber());
  }
  const Result<Domain> result = Domain::Range(minimum, maximum, interval);
  return result.ok() ? result : range.Error(result.status().message());
}

bool TypeAllows(std::string_view name, const Domain& domain) {
  if (name == "UNKNOWN_VARIABLE_TYPE" || name == ToString(domain.type())) {
    return true;
  }
  // A list of numbers or of bools may also be called a list of categories, and two bools discrete.
  const bool is_list = domain.type() == VariableType::kDiscrete || domain.type() == VariableType::kBinary;
  return is_list && (name == "CATEGORICAL_VARIABLE_TYPE" || name == "DISCRETE_VARIABLE_TYPE");
}

Status CheckType(const YamlNode& node, const Domain& domain) {
  std::string name;
  ASSAY_RETURN_IF_ERROR(ReadOptionalText(node, "variableType", name));
  if (name.empty() || TypeAllows(name, domain)) {
    return Status::Ok();
  }
  return node.Error(
      fmt::format("'variableType' {} does not fit {}, which is {}", name, domain.Describe(), ToString(domain.type())));
}

Result<Domain> ReadDomain(const YamlNode& node) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"values", "domainRange", "interval", "variableType", "probabilityFunction"}));
  if (node.Has("values") && (node.Has("interval") || node.Has("domainRange"))) {
    return node.Error("give either 'values' or 'domainRange', not both");
  }
  std::string type;
  ASSAY_RETURN_IF_ERROR(ReadOptionalText(node, "variableType", type));
  if (type == ToString(VariableType::kBinary) && !node.Has("values")) {
    return Domain::Binary();
  }
  if (!node.Has("values") && !node.Has("domainRange")) {
    return node.Error("a propertyDomain needs 'values' or 'domainRange'");
  }
  ASSAY_ASSIGN_OR_RETURN(Domain domain, node.Has("values") ? ReadValues(node) : ReadRange(node));
  ASSAY_RETURN_IF_ERROR(CheckType(node, domain));
  return domain;
}

Result<Property> ReadProperty(const YamlNode& node) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"identifier", "propertyDomain", "propertyType", "metadata"}));
  ASSAY_ASSIGN_OR_RETURN(std::string identifier, ReadText(node, "identifier"));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode domain_node, node.Get("propertyDomain"));
  ASSAY_ASSIGN_OR_RETURN(Domain domain, ReadDomain(domain_node));
  return Property{std::move(identifier), std::move(domain), node.where()};
}

Status ReadProperties(const YamlNode& root, DiscoverySpace& space) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<YamlNode> items, ReadList(root, "entitySpace"));
  for (const YamlNode& item : items) {
    ASSAY_ASSIGN_OR_RETURN(Property property, ReadProperty(item));
    for (const Property& earlier : space.properties) {
      if (earlier.identifier == property.identifier) {
        return item.Error(
            fmt::format("property '{}' stands in entitySpace twice (first at {})", property.identifier, earlier.where));
      }
    }
    space.properties.push_back(std::move(property));
  }
  return Status::Ok();
}

Status ReadParameter(const YamlNode& node, ExperimentReference& experiment) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"property", "value"}));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode property, node.Get("property"));
  ASSAY_RETURN_IF_ERROR(property.CheckKeys({"identifier"}));
  ASSAY_ASSIGN_OR_RETURN(const std::string name, ReadText(property, "identifier"));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode value_node, node.Get("value"));
  ASSAY_ASSIGN_OR_RETURN(Value value, ReadValue(value_node));
  if (!experiment.parameterization.emplace(name, std::move(value)).second) {
    return node.Error(fmt::format("parameter '{}' is given twice", name));
  }
  experiment.parameter_where[name] = node.where();
  return Status::Ok();
}

Result<ExperimentReference> ReadExperiment(const YamlNode& node) {
  ASSAY_RETURN_IF_ERROR(node.CheckKeys({"actuatorIdentifier", "experimentIdentifier", "parameterization", "metadata"}));
  ExperimentReference experiment;
  experiment.where = node.where();
  ASSAY_RETURN_IF_ERROR(ReadOptionalText(node, "actuatorIdentifier", experiment.actuator));
  ASSAY_ASSIGN_OR_RETURN(experiment.identifier, ReadText(node, "experimentIdentifier"));
  const Result<YamlNode> parameterization = node.Get("parameterization");
  if (!parameterization.ok() || parameterization->IsNull()) {
    return experiment;
  }
  if (!parameterization->IsSequence()) {
    return parameterization->Error("'parameterization' must be a list of {property: {identifier: NAME}, value: VALUE}");
  }
  for (const YamlNode& item : parameterization->items()) {
    ASSAY_RETURN_IF_ERROR(ReadParameter(item, experiment));
  }
  return experiment;
}

Status CheckNotInBoth(const DiscoverySpace& space, const ExperimentReference& experiment) {
  for (const Property& property : space.properties) {
    const auto found = experiment.parameter_where.find(property.identifier);
    if (found != experiment.parameter_where.end()) {
      return Status::InvalidArgument(
          fmt::format("{}: '{}' stands in this parameterization and in entitySpace ({}): give it in one of the two",
                      found->second, property.identifier, property.where));
    }
  }
  return Status::Ok();
}

Status ReadExperiments(const YamlNode& root, DiscoverySpace& space) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<YamlNode> items, ReadList(root, "experiments"));
  for (const YamlNode& item : items) {
    ASSAY_ASSIGN_OR_RETURN(ExperimentReference experiment, ReadExperiment(item));
    ASSAY_RETURN_IF_ERROR(CheckNotInBoth(space, experiment));
    space.experiments.push_back(std::move(experiment));
  }
  return Status::Ok();
}

Status ReadMetadata(const YamlNode& root, DiscoverySpace& space) {
  const Result<YamlNode> metadata = root.Get("metadata");
  if (!metadata.ok() || metadata->IsNull()) {
    return Status::Ok();
  }
  ASSAY_RETURN_IF_ERROR(metadata->CheckKeys({"name", "description", "labels"}));
  ASSAY_RETURN_IF_ERROR(ReadOptionalText(*metadata, "name", space.name));
  ASSAY_RETURN_IF_ERROR(ReadOptionalText(*metadata, "description", space.description));
  if (const Result<YamlNode> labels = metadata->Get("labels"); labels.ok()) {
    for (const auto& [name, node] : labels->entries()) {
      ASSAY_ASSIGN_OR_RETURN(space.labels[name], node.AsText());
    }
  }
  return Status::Ok();
}

Result<DiscoverySpace> ReadDocument(const YamlNode& root, const std::string& source) {
  ASSAY_RETURN_IF_ERROR(CheckKind(root, FileKind::kSpace));
  ASSAY_RETURN_IF_ERROR(root.CheckKeys({"sampleStoreIdentifier", "entitySpace", "experiments", "repeats", "metadata"}));
  DiscoverySpace space;
  space.source = source;
  ASSAY_RETURN_IF_ERROR(ReadOptionalText(root, "sampleStoreIdentifier", space.sample_store));
  ASSAY_RETURN_IF_ERROR(ReadProperties(root, space));
  ASSAY_RETURN_IF_ERROR(ReadExperiments(root, space));
  if (root.Has("repeats")) {
    ASSAY_ASSIGN_OR_RETURN(const YamlNode repeats, root.Get("repeats"));
    ASSAY_ASSIGN_OR_RETURN(space.repeats, ReadRepeats(repeats));
  }
  ASSAY_RETURN_IF_ERROR(ReadMetadata(root, space));
  return space;
}

}  // namespace

Result<DiscoverySpace> ReadDiscoverySpace(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::ReadFile(path));
  return ReadDocument(root, path);
}

Result<DiscoverySpace> ParseDiscoverySpace(std::string_view text, const std::string& source) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::Parse(text, source));
  return ReadDocument(root, source);
}

}  // namespace assay::space
