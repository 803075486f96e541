// The options of a training over ranks: how many, by which plugin, with which knobs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/verb.h"
#include "job/parallel_plan.h"

namespace assay::cli {

/// What was asked for of the plugins' knobs, in the order in which it was given.
using GivenKnobs = std::vector<std::function<void(job::PluginKnobs&)>>;

/// --number-ranks, --plugin and an option for each knob: --tp-size for tp_size. Both outlive `app`.
void AddParallelOptions(CLI::App& app, job::ParallelPlan& plan, GivenKnobs& given);

/// The plan's knobs: what its plugin brings along, and what was given on top of it. Returns the plugin.
Result<const job::PluginInfo*> CompleteKnobs(const GivenKnobs& given, job::ParallelPlan& plan);

}  // namespace assay::cli
