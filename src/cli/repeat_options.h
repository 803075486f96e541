// The options that say how often each point of a space is measured.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "cli/verb.h"
#include "experiment/point.h"
#include "explore/explore.h"

namespace assay::cli {

struct RepeatOptions {
  std::optional<int> repeats;
  std::string interval;     ///< "5%"; empty: not said
  std::string interval_of;  ///< target property; empty: not said
};

/// --repeats, --interval, --interval-of. `options` outlives `app`.
void AddRepeatOptions(CLI::App& app, RepeatOptions& options);

/// What the options say, else the space. Once it is known whether what the store has counts (`explore.measure`).
Status UseRepeats(const RepeatOptions& options, const experiment::BoundSpace& space, explore::ExploreOptions& explore);

/// The line of a point whose repeats have ended.
std::string DescribeMean(const explore::PointMean& ended);

/// What became of the repeats that were to end with a narrow interval, a line; empty where none were.
std::string DescribeRepeats(const explore::ExploreOptions& explore, const explore::ExploreSummary& summary);

}  // namespace assay::cli
