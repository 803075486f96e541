// The parameters are those of ado's SFTTrainer (plugins/actuators/sfttrainer, ActuatorParameters).
#include "space/actuator_configuration.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "base/yaml.h"
#include "space/file_kind.h"

namespace assay::space {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kActuator = "SFTTrainer";
constexpr std::string_view kWeights = "Vanilla";

/// A parameter that means nothing here, and why.
struct Idle {
  const char* name;
  const char* reason;
};

constexpr Idle kIdle[] = {
    {"match_exact_dependencies", "no packages are installed for a run"},
    {"output_dir", "runs of a benchmark save no weights"},
    {"aim_db", "samples are kept in the store"},
    {"aim_dashboard_url", "samples are kept in the store"},
    {"num_tokens_cache_directory", "tokens are kept in the user's cache"},
    {"cache", "tokens are kept in the user's cache"},
};

std::string FolderOf(const std::string& text, const std::string& source) {
  const char* const home = std::getenv("HOME");
  if (text.starts_with("~/") && home != nullptr) {
    return home + text.substr(1);
  }
  return (fs::path(source).parent_path() / text).lexically_normal().string();
}

Status ReadFolder(const YamlNode& parameters, std::string_view key, const std::string& source, std::string& folder) {
  if (const Result<YamlNode> node = parameters.Get(key); node.ok() && !node->IsNull()) {
    ASSAY_ASSIGN_OR_RETURN(const std::string text, node->AsText());
    folder = FolderOf(text, source);
  }
  return Status::Ok();
}

/// An id of Hugging Face, "org/name", is no path that begins anywhere.
Status TakeModel(const std::string& name, const YamlNode& entry, ActuatorConfiguration& configuration) {
  for (const auto& [weights, node] :
       entry.IsMap() ? entry.entries() : std::vector{std::pair(std::string(kWeights), entry)}) {
    ASSAY_ASSIGN_OR_RETURN(const std::string text, node.AsText());
    if (weights == kWeights) {
      configuration.models[name] = text;
    } else {
      configuration.idle.push_back(fmt::format(
          "{}: model_map: '{}' of {} does not count here: name the folder as model_name", node.where(), weights, name));
    }
  }
  return Status::Ok();
}

Status ReadModels(const YamlNode& parameters, ActuatorConfiguration& configuration) {
  const Result<YamlNode> map = parameters.Get("model_map");
  if (!map.ok() || map->IsNull()) {
    return Status::Ok();
  }
  if (!map->IsMap()) {
    return map->Error("'model_map' must be a map from names of models to {Vanilla: PATH}");
  }
  for (const auto& [name, entry] : map->entries()) {
    ASSAY_RETURN_IF_ERROR(TakeModel(name, entry, configuration));
  }
  return Status::Ok();
}

Status ReadParameters(const YamlNode& parameters, ActuatorConfiguration& configuration) {
  std::vector<std::string> known = {"data_directory", "hf_home", "model_map"};
  for (const Idle& idle : kIdle) {
    known.emplace_back(idle.name);
  }
  ASSAY_RETURN_IF_ERROR(parameters.CheckKeys(known));
  for (const Idle& idle : kIdle) {
    if (const Result<YamlNode> node = parameters.Get(idle.name); node.ok() && !node->IsNull()) {
      configuration.idle.push_back(
          fmt::format("{}: {} does not count here: {}", node->where(), idle.name, idle.reason));
    }
  }
  ASSAY_RETURN_IF_ERROR(ReadFolder(parameters, "data_directory", configuration.source, configuration.data_directory));
  ASSAY_RETURN_IF_ERROR(ReadFolder(parameters, "hf_home", configuration.source, configuration.hf_home));
  return ReadModels(parameters, configuration);
}

Result<ActuatorConfiguration> ReadActuatorDocument(YamlNode root, const std::string& source) {
  if (const Result<YamlNode> config = root.Get("config"); config.ok() && config->IsMap()) {
    root = *config;  // as ado prints a resource
  }
  ASSAY_RETURN_IF_ERROR(CheckKind(root, FileKind::kActuatorConfiguration));
  ASSAY_RETURN_IF_ERROR(root.CheckKeys({"actuatorIdentifier", "parameters", "metadata"}));
  ASSAY_ASSIGN_OR_RETURN(const YamlNode actuator, root.Get("actuatorIdentifier"));
  ASSAY_ASSIGN_OR_RETURN(const std::string name, actuator.AsText());
  if (name != kActuator) {
    return actuator.Error(
        fmt::format("the experiments of actuator '{}' are not here, those of {} are", name, kActuator));
  }
  ActuatorConfiguration configuration;
  configuration.source = source;
  if (const Result<YamlNode> parameters = root.Get("parameters"); parameters.ok() && !parameters->IsNull()) {
    ASSAY_RETURN_IF_ERROR(ReadParameters(*parameters, configuration));
  }
  return configuration;
}

}  // namespace

Result<ActuatorConfiguration> ReadActuatorConfiguration(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::ReadFile(path));
  return ReadActuatorDocument(root, path);
}

Result<ActuatorConfiguration> ParseActuatorConfiguration(std::string_view text, const std::string& source) {
  ASSAY_ASSIGN_OR_RETURN(const YamlNode root, YamlNode::Parse(text, source));
  return ReadActuatorDocument(root, source);
}

std::string ModelFolderOf(const ActuatorConfiguration& configuration, const std::string& target) {
  const std::string folder = FolderOf(target, configuration.source);
  return IsDirectory(folder) ? folder : "";
}

}  // namespace assay::space
