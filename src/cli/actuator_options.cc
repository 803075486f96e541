#include "cli/actuator_options.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/files.h"
#include "job/hub_cache.h"
#include "space/actuator_configuration.h"

namespace assay::cli {
namespace {

bool IsFileName(const std::string& identifier) {
  return identifier.ends_with(".yaml") || identifier.ends_with(".yml");
}

}  // namespace

CLI::Option* AddActuatorOption(CLI::App& app, std::string& path) {
  return app
      .add_option("--actuator-configuration", path,
                  "A file of ado's SFTTrainer that says where models and data sets are: model_map, hf_home, "
                  "data_directory")
      ->type_name("FILE");
}

std::vector<std::string> ActuatorFilesOf(const explore::OperationFile& operation) {
  std::vector<std::string> files;
  for (const std::string& name : operation.actuator_configurations) {
    if (IsFileName(name)) {
      files.push_back((std::filesystem::path(operation.source).parent_path() / name).string());
    } else {
      fmt::print(stderr,
                 "{}: actuatorConfigurationIdentifiers: '{}' does not count here: there is no registry of them; name "
                 "its file, or give it with --actuator-configuration\n",
                 operation.source, name);
    }
  }
  return files;
}

Status UseActuator(const std::string& path, experiment::PlanContext& context) {
  if (path.empty()) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const space::ActuatorConfiguration configuration, space::ReadActuatorConfiguration(path));
  for (const std::string& line : configuration.idle) {
    fmt::print(stderr, "{}\n", line);
  }
  if (IsDirectory(configuration.data_directory)) {
    context.data_folder = configuration.data_directory;
  } else if (!configuration.data_directory.empty()) {
    fmt::print(stderr, "{}: data_directory: there is no folder {}: data sets that have a name are made here\n", path,
               configuration.data_directory);
  }
  const std::string cache = configuration.hf_home.empty() ? job::HubCacheDirectory() : configuration.hf_home + "/hub";
  for (const auto& [name, target] : configuration.models) {
    std::string folder = space::ModelFolderOf(configuration, target);
    if (folder.empty()) {
      folder = job::FindHubSnapshot(cache, target);
    }
    if (!folder.empty()) {
      context.model_folders[name] = folder;
    } else {
      fmt::print(stderr,
                 "{}: model_map: '{}' is neither a folder nor in the cache of hf_home: weights of {} are random\n",
                 path, target, name);
    }
  }
  return Status::Ok();
}

}  // namespace assay::cli
