#include "launch/worker_program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"

extern char** environ;

namespace assay::launch {

namespace {

std::string BesideUs(const char* name) {
  const std::string own = ExecutablePath();
  return own.substr(0, own.rfind('/') + 1) + name;
}

bool MayBeRun(const std::string& path) {
  return access(path.c_str(), X_OK) == 0 && !IsDirectory(path);
}

}  // namespace

Result<std::string> FindAgent() {
  std::string path = BesideUs("assay-agent");
  return MayBeRun(path) ? Result<std::string>(std::move(path))
                        : Status::NotFound(
                              fmt::format("cannot start an agent: there is no program {} (build or install it)", path));
}

Result<std::string> FindWorker() {
  const char* named = std::getenv("ASSAY_WORKER");
  const std::string path = named != nullptr && *named != '\0' ? named : BesideUs("assay-worker");
  if (MayBeRun(path)) {
    return path;
  }
  return Status::NotFound(
      fmt::format("cannot start a worker: {} is {} (build or install assay-worker beside assay, or name it with "
                  "ASSAY_WORKER)",
                  path, FileExists(path) || IsDirectory(path) ? "no program that may be run" : "not there"));
}

Result<std::string> FindProgram(const job::Plan& plan) {
  const std::string named = std::visit(
      [](const auto& kind) {
        if constexpr (requires { kind.program; }) {
          return kind.program;
        } else {
          return std::string();
        }
      },
      plan);
  if (named.empty()) {
    return FindWorker();
  }
  return MayBeRun(named) ? Result<std::string>(named)
                         : Status::NotFound(fmt::format("cannot start {}: there is no such program", named));
}

std::map<std::string, std::string> VariablesElsewhere(const LaunchOptions& options) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (text.starts_with("ASSAY_") && equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  if (!options.worker.empty()) {
    variables["ASSAY_WORKER"] = options.worker;
  }
  for (const auto& [name, value] : options.environment) {
    variables[name] = value;
  }
  return variables;
}

}  // namespace assay::launch
