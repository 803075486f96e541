// Reads the YAML of an operation. The forms are those of ado's operators/randomwalk.py and core/operation/config.py.
#include "explore/operation/operation_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/text.h"
#include "base/yaml.h"
#include "space/file_kind.h"
#include "space/repeats.h"

namespace assay::explore {
namespace {

/// The value under `key`; nothing where it is missing or null.
std::optional<YamlNode> Find(const YamlNode& map, std::string_view key) {
  Result<YamlNode> node = map.Get(key);
  return node.ok() && !node->IsNull() ? std::optional(*std::move(node)) : std::nullopt;
}

Status ReadOptional(const YamlNode& map, std::string_view key, bool& target) {
  if (const auto node = Find(map, key)) {
    const nlohmann::json value = node->ToJson();
    if (!value.is_boolean()) {
      return node->Error(fmt::format("'{}' must be true or false", key));
    }
    target = value.get<bool>();
  }
  return Status::Ok();
}

Status ReadOptional(const YamlNode& map, std::string_view key, int64_t least, int64_t& target) {
  if (const auto node = Find(map, key)) {
    const Result<int64_t> value = node->AsInteger();
    if (!value.ok() || *value < least) {
      return node->Error(fmt::format("'{}' must be a whole number of at least {}", key, least));
    }
    target = *value;
  }
  return Status::Ok();
}

Status ReadOptional(const YamlNode& map, std::string_view key, std::string& target) {
  if (const auto node = Find(map, key)) {
    ASSAY_ASSIGN_OR_RETURN(target, node->AsText());
  }
  return Status::Ok();
}

Status ReadOptional(const YamlNode& map, std::string_view key, std::vector<std::string>& target) {
  const auto node = Find(map, key);
  if (!node) {
    return Status::Ok();
  }
  if (!node->IsSequence()) {
    return node->Error(fmt::format("'{}' must be a list", key));
  }
  for (const YamlNode& item : node->items()) {
    ASSAY_ASSIGN_OR_RETURN(std::string text, item.AsText());
    target.push_back(std::move(text));
  }
  return Status::Ok();
}

template <typename T>
struct Named {
  const char* name;
  T value;
};

/// The row of `rows` that the value under `key` names; `target` stays where there is none.
template <typename T>
Status ReadOneOf(const YamlNode& map, std::string_view key, std::span<const Named<T>> rows, T& target) {
  const auto node = Find(map, key);
  if (!node) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string name, node->AsText());
  std::vector<std::string> names;
  for (const Named<T>& row : rows) {
    if (name == row.name) {
      target = row.value;
      return Status::Ok();
    }
    names.emplace_back(row.name);
  }
  return node->Error(fmt::format("{} '{}' is none of {}", key, name, Join(names, ", ")));
}

struct Mode {
  bool random = true;
  bool grouped = false;
};

constexpr Named<Mode> kModes[] = {{"random", {true, false}},
                                  {"sequential", {false, false}},
                                  {"randomgrouped", {true, true}},
                                  {"sequentialgrouped", {false, true}}};
constexpr Named<bool> kSamplerTypes[] = {{"selector", true}, {"generator", false}};
constexpr Named<EntityFilter> kFilters[] = {{"noFilter", EntityFilter::kNone},
                                            {"unmeasured", EntityFilter::kUnmeasured},
                                            {"partial", EntityFilter::kPartial},
                                            {"measured", EntityFilter::kMeasured}};

Status ReadSampler(const YamlNode& node, RandomWalk& walk) {
  if (node.Has("module")) {
    return node.Error("a sampler that is a class of Python is not run here; give 'mode' and 'samplerType'");
  }
  Mode mode;
  std::vector<std::string> grouping;
  ASSAY_RETURN_IF_ERROR(ReadOneOf<Mode>(node, "mode", kModes, mode));
  ASSAY_RETURN_IF_ERROR(ReadOneOf<bool>(node, "samplerType", kSamplerTypes, walk.from_store));
  ASSAY_RETURN_IF_ERROR(ReadOptional(node, "grouping", grouping));
  if (mode.grouped && grouping.empty()) {
    return node.Error("a grouped mode needs 'grouping', a list of the properties that members of a group share");
  }
  walk.random = mode.random;
  walk.grouped_by = mode.grouped ? std::move(grouping) : std::vector<std::string>();
  return Status::Ok();
}

/// Its older form has the sampler's keys among its own.
Status ReadSamplerOf(const YamlNode& parameters, RandomWalk& walk) {
  const auto sampler = Find(parameters, "samplerConfig");
  if (!sampler) {
    return ReadSampler(parameters, walk);
  }
  for (const char* key : {"mode", "samplerType", "grouping"}) {
    if (parameters.Has(key)) {
      return parameters.Error(fmt::format("'{}' stands beside 'samplerConfig': give it there", key));
    }
  }
  ASSAY_RETURN_IF_ERROR(sampler->CheckKeys({"mode", "samplerType", "grouping", "module", "parameters"}));
  return ReadSampler(*sampler, walk);
}

Status ReadNumberOfEntities(const YamlNode& parameters, RandomWalk& walk) {
  const auto node = Find(parameters, "numberEntities");
  if (!node) {
    return Status::Ok();
  }
  if (const Result<std::string> text = node->AsText(); text.ok() && *text == "all") {
    walk.entities = -1;
    return Status::Ok();
  }
  const Result<int64_t> number = node->AsInteger();
  if (!number.ok() || *number < 1) {
    return node->Error("'numberEntities' must be a whole number of at least 1, or all");
  }
  walk.entities = *number;
  return Status::Ok();
}

Status ReadWalk(const YamlNode& parameters, RandomWalk& walk) {
  ASSAY_RETURN_IF_ERROR(parameters.CheckKeys({"numberEntities", "batchSize", "samplerConfig", "mode", "samplerType",
                                              "grouping", "singleMeasurement", "maxRetries", "filter"}));
  ASSAY_RETURN_IF_ERROR(ReadNumberOfEntities(parameters, walk));
  ASSAY_RETURN_IF_ERROR(ReadOptional(parameters, "batchSize", 1, walk.batch_size));
  ASSAY_RETURN_IF_ERROR(ReadSamplerOf(parameters, walk));
  ASSAY_RETURN_IF_ERROR(ReadOptional(parameters, "singleMeasurement", walk.single_measurement));
  ASSAY_RETURN_IF_ERROR(ReadOptional(parameters, "maxRetries", 0, walk.max_retries));
  if (const auto filter = Find(parameters, "filter")) {
    ASSAY_RETURN_IF_ERROR(filter->CheckKeys({"filterMode"}));
    ASSAY_RETURN_IF_ERROR(ReadOneOf<EntityFilter>(*filter, "filterMode", kFilters, walk.filter));
  }
  if (walk.entities >= 0 && walk.batch_size > walk.entities) {
    return parameters.Error(
        fmt::format("'batchSize' {} is more than 'numberEntities', which is {}", walk.batch_size, walk.entities));
  }
  return Status::Ok();
}

Status ReadCharacterization(const YamlNode& parameters, Characterization& characterization) {
  ASSAY_RETURN_IF_ERROR(parameters.CheckKeys({"repeats"}));
  ASSAY_RETURN_IF_ERROR(ReadOptional(parameters, "repeats", 1, characterization.repeats));
  return characterization.repeats <= space::kMostRepeats
             ? Status::Ok()
             : Find(parameters, "repeats")->Error(fmt::format("'repeats' must be at most {}", space::kMostRepeats));
}

/// By the operator's name or, in the older form, its class. Sets `file.characterization` where it is one.
Status ReadOperator(const YamlNode& module, OperationFile& file) {
  ASSAY_RETURN_IF_ERROR(module.CheckKeys(
      {"operatorName", "operationType", "operatorType", "moduleClass", "moduleName", "modulePath", "moduleType"}));
  std::string name;
  ASSAY_RETURN_IF_ERROR(ReadOptional(module, "operatorName", name));
  ASSAY_RETURN_IF_ERROR(ReadOptional(module, "moduleClass", name));
  if (name.empty()) {
    return module.Error("'module' needs an 'operatorName'");
  }
  if (name == "random_walk" || name == "RandomWalk") {
    return Status::Ok();
  }
  if (name == "characterization") {
    file.characterization.emplace();
    return Status::Ok();
  }
  if (name == "ray_tune" || name == "RayTune") {
    return module.Error(fmt::format(
        "operator '{}' is not read from a file: assay explore SPACE.yaml --sampler model --metric NAME:max|min "
        "--budget N",
        name));
  }
  return module.Error(fmt::format("operator '{}' is not run here; random_walk and characterization are", name));
}

Status ReadOperation(const YamlNode& operation, OperationFile& file) {
  ASSAY_RETURN_IF_ERROR(operation.CheckKeys({"module", "parameters"}));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode module, operation.Get("module"));
  ASSAY_RETURN_IF_ERROR(ReadOperator(module, file));
  const auto parameters = Find(operation, "parameters");
  if (!parameters) {
    return Status::Ok();
  }
  return file.characterization ? ReadCharacterization(*parameters, *file.characterization)
                               : ReadWalk(*parameters, file.walk);
}

Result<OperationFile> ReadDocument(const YamlNode& root, const std::string& source) {
  ASSAY_RETURN_IF_ERROR(space::CheckKind(root, space::FileKind::kOperation));
  ASSAY_RETURN_IF_ERROR(root.CheckKeys({"spaces", "operation", "metadata", "actuatorConfigurationIdentifiers"}));
  OperationFile file;
  file.source = source;
  ASSAY_RETURN_IF_ERROR(ReadOptional(root, "spaces", file.spaces));
  ASSAY_RETURN_IF_ERROR(ReadOptional(root, "actuatorConfigurationIdentifiers", file.actuator_configurations));
  if (const auto metadata = Find(root, "metadata")) {
    ASSAY_RETURN_IF_ERROR(ReadOptional(*metadata, "name", file.name));
  }
  ASSAY_ASSIGN_OR_RETURN(const YamlNode operation, root.Get("operation"));
  ASSAY_RETURN_IF_ERROR(ReadOperation(operation, file));
  return file;
}

}  // namespace

Result<OperationFile> ReadOperationFile(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::ReadFile(path));
  return ReadDocument(root, path);
}

Result<OperationFile> ParseOperationFile(std::string_view text, const std::string& source) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::Parse(text, source));
  return ReadDocument(root, source);
}

}  // namespace assay::explore
