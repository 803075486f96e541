// What experiments that train over ranks make of number_gpus and number_ranks alike.
#pragma once

#include "experiment/experiment.h"

namespace assay::experiment {

/// The property number_ranks of all of them.
PropertySpec NumberOfRanks();

/// Of a complete point: a rank for each GPU where nothing else is asked for; without GPUs number_ranks.
int64_t RanksOf(const space::Entity& point);

/// Why GPUs and ranks cannot go together; empty: they can.
std::string RanksAgainstGpus(const space::Entity& point);

/// kNotFound where this machine, if it is the one where workers run, shows fewer GPUs.
Status CheckVisibleGpus(int64_t gpus, const PlanContext& context);

/// kFailedPrecondition where the ranks are too many for this machine, if they are to run here.
Status CheckRanksFitHere(const job::Plan& plan, const PlanContext& context);

/// `threads` of a rank: those that the point asks for; else what the context sets aside for it, or its share; 0
/// where that says nothing.
int64_t ThreadsOfRank(int64_t threads, int64_t ranks, const PlanContext& context);

}  // namespace assay::experiment
