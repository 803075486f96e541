#include "explore/run_evidence.h"

#include <fmt/format.h>

#include "base/text.h"
#include "measure/sample_series.h"

namespace assay::explore {
namespace {

int64_t BudgetOf(const job::Plan& plan) {
  if (const auto* tune = std::get_if<job::TunePlan>(&plan)) {
    return tune->memory_budget_bytes;
  }
  return std::get<job::VitPlan>(plan).memory_cap_bytes;
}

}  // namespace

Status CheckNeverStoodStill(const job::RunRecord& record) {
  if (record.stood_still_seconds <= 0) {
    return Status::Ok();
  }
  return Status::Internal(
      fmt::format("the run stood still for {} (the worker, assay or the machine was stopped or suspended): its times "
                  "say nothing, run it again",
                  FormatSeconds(record.stood_still_seconds)));
}

Status CheckMemoryWasFree(const job::Plan& plan, const job::RunRecord& record) {
  // What a driver holds of an idle GPU is less.
  constexpr double kMostHeld = 0.1;
  if (BudgetOf(plan) > 0) {
    return Status::Ok();
  }
  for (const measure::GpuSeries& gpu : measure::FromColumns(record.samples).gpus) {
    const double held = gpu.memory_used_bytes.empty() ? 0 : gpu.memory_used_bytes.front();
    if (!gpu.memory_total_bytes.empty() && held > kMostHeld * gpu.memory_total_bytes.front()) {
      return Status::Internal(fmt::format("{}, but others held {} of GPU {} when it began (run it again)",
                                          record.reason, FormatBytes(held), gpu.index));
    }
  }
  return Status::Ok();
}

std::string DescribeStarvation(const job::RunRecord& record) {
  constexpr double kWorthAMark = 0.1;
  if (record.wall_seconds <= 0 || record.cpu_wait_seconds <= kWorthAMark * record.wall_seconds) {
    return "";
  }
  return fmt::format("waited for a processor for {} of {}", FormatSeconds(record.cpu_wait_seconds),
                     FormatSeconds(record.wall_seconds));
}

}  // namespace assay::explore
