// What the record of a run proves about the run itself, and what others on the machine may have caused.
#pragma once

#include <string>

#include "base/status.h"
#include "job/plan.h"
#include "job/run_record.h"

namespace assay::explore {

/// An error for a run that was stopped or suspended: it has times, but they are not its own.
Status CheckNeverStoodStill(const job::RunRecord& record);

/// An error for a run out of GPU memory of which others held a good part: when it ended, by the account of the worker's
/// allocator; without one when it began, or when the most was held of what was sampled. A budget is the plan's own. The
/// kernel's killer misses memory of the host, and whose that was is told with the run's end. Also for a run that was
/// foretold not to fit into what was free, while others held most of the machine.
Status CheckMemoryWasFree(const job::Plan& plan, const job::RunRecord& record);

/// How long the run's main thread was ready but had no processor, where that is worth a mark; else empty.
std::string DescribeStarvation(const job::RunRecord& record);

}  // namespace assay::explore
