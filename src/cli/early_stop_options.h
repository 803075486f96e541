// The options that say when runs of an exploration end before their time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/search_options.h"
#include "cli/verb.h"
#include "explore/explore.h"

namespace assay::cli {

struct EarlyStopVerbOptions {
  std::string rule;   ///< empty: none
  std::string shown;  ///< empty: by the metric that is looked for
  int64_t from_step = 5;
};

/// --end-early, --end-early-by, --end-early-from. `options` outlives `app`.
void AddEarlyStopOptions(CLI::App& app, EarlyStopVerbOptions& options);

/// Sets `explore.early_stop` where a rule is asked for. `goals` are those of the exploration: where the first is
/// neither a throughput nor a loss, what runs are held against each other by must be said.
Status UseEarlyStop(const EarlyStopVerbOptions& options, const std::vector<Goal>& goals,
                    explore::ExploreOptions& explore);

}  // namespace assay::cli
