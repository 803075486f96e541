// The options that say who starts the ranks of a run, and where.
#pragma once

#include "base/status.h"
#include "cli/verb.h"
#include "explore/measure_point.h"
#include "launch/launchers.h"

namespace assay::cli {

/// --launcher, --address, --cpus-per-rank, --resource. `settings` outlives `app`.
void AddLauncherOptions(CLI::App& app, launch::LauncherSettings& settings);

/// Points are measured as `settings` say: who runs them, on which kind of machine, with which ceilings. Returns how
/// many points there is room for at once. The launcher lives as long as a copy of `measure`.
Result<int> UseLauncher(const launch::LauncherSettings& settings, explore::MeasureOptions& measure);

}  // namespace assay::cli
