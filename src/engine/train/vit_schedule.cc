#include "engine/train/vit_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay::engine {

double vit_learning_rate(const job::VitPlan& plan, int64_t step, int64_t steps) {
  if (plan.lr_scheduler_type == "constant") {
    return plan.learning_rate;
  }
  const auto warmup = static_cast<int64_t>(plan.warmup_ratio * static_cast<double>(steps));
  if (step <= warmup) {
    return plan.learning_rate * static_cast<double>(step) / static_cast<double>(warmup);
  }
  const auto since = static_cast<double>(step - 1 - warmup);
  const auto span = static_cast<double>(std::max<int64_t>(1, steps - warmup));
  return plan.learning_rate * 0.5 * (1.0 + std::cos(std::numbers::pi * since / span));
}

}  // namespace assay::engine
