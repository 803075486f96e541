// What the machine could do at best in a run's arithmetic, measured once and kept.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "experiment/experiment.h"

namespace assay::explore {

/// Measures product ceilings on so many threads: launch::MeasureProductCeilings, or a test's own.
using CeilingsFunction = std::function<Result<nlohmann::json>(int64_t threads)>;

/// TFLOP/s of all the devices that `need` names together: from the cache's file for this processor, GPUs and number of
/// threads, else measured, and kept there (a file that cannot be written is only made again). What is kept and lies
/// below `reached`, which a run attained, was measured on a busy machine: it is measured again and the faster counts.
/// An error when nothing was measured for the dtype.
Result<double> CeilingTflops(const experiment::CeilingNeed& need, const CeilingsFunction& measure, double reached = 0);

}  // namespace assay::explore
