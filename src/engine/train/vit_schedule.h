// The learning rate of a ViT training.
#pragma once

#include <cstdint>

#include "job/vit_plan.h"

namespace assay::engine {

/// Of step `step` (from 1) of `steps`, as the plan's lr_scheduler_type and warmup_ratio say.
double vit_learning_rate(const job::VitPlan& plan, int64_t step, int64_t steps);

}  // namespace assay::engine
