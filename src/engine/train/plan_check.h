// What can be said about a plan before anything is loaded.
#pragma once

#include "base/status.h"
#include "job/tune_plan.h"
#include "job/vit_plan.h"

namespace assay::engine {

/// Ok, or one line that names the first field of `plan` whose value makes no sense, and the values it may have. When
/// the plan saves, its output folder is made and must be writable.
Status check_plan(const job::TunePlan& plan);
Status check_plan(const job::VitPlan& plan);

}  // namespace assay::engine
