// Makes one record of what the machines of a run saw.
#pragma once

#include <vector>

#include "job/plan.h"
#include "job/run_record.h"
#include "launch/node_report.h"

namespace assay::launch {

/// The record of `plan` out of the reports of all machines, rank 0's first; see Launcher::Run. `interrupted`: the user
/// asked us to stop. `wall_seconds` is from before the ranks were started until their ends were known. Merges the
/// ranks' traces where the plan asks for them.
job::RunRecord Gather(const job::Plan& plan, std::vector<NodeReport> nodes, bool interrupted, double wall_seconds);

}  // namespace assay::launch
