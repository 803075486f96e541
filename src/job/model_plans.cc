#include "job/model_plans.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace assay::job {
namespace {

constexpr char kKindKey[] = "kind";

nlohmann::json WithKind(const TunePlan& plan, const char* kind) {
  nlohmann::json object = ToJson(plan);
  object[kKindKey] = kind;
  return object;
}

}  // namespace

nlohmann::json ToJson(const GeneratePlan& plan) {
  return WithKind(plan, GeneratePlan::kKind);
}

nlohmann::json ToJson(const MergePlan& plan) {
  return WithKind(plan, MergePlan::kKind);
}

template <typename Plan>
Result<Plan> ModelPlanFromJson(const nlohmann::json& json) {
  nlohmann::json fields = json;
  fields.erase(kKindKey);
  ASSAY_ASSIGN_OR_RETURN(TunePlan plan, TunePlanFromJson(fields));
  return Plan{std::move(plan)};
}

template Result<GeneratePlan> ModelPlanFromJson(const nlohmann::json& json);
template Result<MergePlan> ModelPlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
