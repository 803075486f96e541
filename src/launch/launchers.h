// The kinds of launchers, and how each is opened.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "launch/launcher.h"

namespace assay::launch {

/// What a user says of how plans are to be carried out.
struct LauncherSettings {
  std::string kind = "local";
  std::string address = {};                      ///< where the launcher's service answers; empty: the kind's own
  int64_t cpus_per_rank = 0;                     ///< that are set aside; 0: not said
  std::map<std::string, double> resources = {};  ///< more of them, of each machine of a run, as the cluster names them
};

/// A row of the table. To add a launcher: one file with its class, and a row.
struct LauncherKind {
  const char* name;
  const char* summary;
  bool elsewhere;  ///< it has an address, and is asked for resources
  Result<std::unique_ptr<Launcher>> (*open)(const LauncherSettings& settings);
};

std::span<const LauncherKind> LauncherKinds();

/// kInvalidArgument for a kind that there is not, or for what it has no use for.
Result<std::unique_ptr<Launcher>> OpenLauncher(const LauncherSettings& settings);

}  // namespace assay::launch
