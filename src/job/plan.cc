#include "job/plan.h"

#include <nlohmann/json.hpp>

namespace assay::job {
namespace {

template <typename Kind>
Result<Plan> AsPlan(Result<Kind> plan) {
  if (!plan.ok()) {
    return plan.status();
  }
  return Plan(*std::move(plan));
}

}  // namespace

int64_t RanksOf(const Plan& plan) {
  const auto* vit = std::get_if<VitPlan>(&plan);
  return vit == nullptr ? 1 : vit->number_ranks;
}

int64_t ThreadsOf(const Plan& plan) {
  return std::visit([](const auto& kind) { return kind.threads; }, plan);
}

bool IsForCpu(const Plan& plan) {
  return std::visit([](const auto& kind) { return kind.device == "cpu"; }, plan);
}

nlohmann::json ToJson(const Plan& plan) {
  return std::visit([](const auto& kind) { return ToJson(kind); }, plan);
}

Result<Plan> PlanFromJson(const nlohmann::json& json) {
  return json.is_object() && json.contains("kind") ? AsPlan(VitPlanFromJson(json)) : AsPlan(TunePlanFromJson(json));
}

}  // namespace assay::job
