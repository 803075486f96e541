// A plan of any kind, as a worker finds it in its plan.json.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <variant>

#include "base/status.h"
#include "job/checkpoint_plan.h"
#include "job/connector_plan.h"
#include "job/model_plans.h"
#include "job/tune_plan.h"
#include "job/vit_plan.h"

namespace assay::job {

using Plan = std::variant<TunePlan, VitPlan, CheckpointPlan, ConnectorPlan, GeneratePlan, MergePlan>;

/// `visit` of the plan of a training, which `plan` must be.
template <typename Visitor>
auto VisitTraining(const Plan& plan, const Visitor& visit) {
  if (const auto* vit = std::get_if<VitPlan>(&plan)) {
    return visit(*vit);
  }
  return visit(std::get<TunePlan>(plan));
}

nlohmann::json ToJson(const Plan& plan);

/// What every kind of plan has.
const TrainingPlan& TrainingOf(const Plan& plan);

/// Refuses GPUs of several machines, for which this one alone has nothing that stands in. One line.
Status CheckMachinesFit(const TrainingPlan& plan);

/// Whether this machine can run all ranks of the plan: CheckMachinesFit(), and not so many more than its CPU threads
/// that they would only take its memory. One line.
Status CheckRanksFit(const Plan& plan);

/// The key "kind" says which plan it is; a plan without it is a TunePlan.
Result<Plan> PlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
