// ado's files of actuator configurations, as far as they say where models and data sets are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "explore/operation/operation_file.h"

namespace assay::cli {

/// --actuator-configuration FILE.
CLI::Option* AddActuatorOption(CLI::App& app, std::string& path);

/// The files that `operation` names as its configurations, which begin at its folder. Other names are those of a
/// registry that is not here: with a line on standard error for each.
std::vector<std::string> ActuatorFilesOf(const explore::OperationFile& operation);

/// Puts what the file at `path` says into `context`, and what of it does not count here on standard error. Without a
/// path there is none.
Status UseActuator(const std::string& path, experiment::PlanContext& context);

}  // namespace assay::cli
