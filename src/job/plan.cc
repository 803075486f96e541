#include "job/plan.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/parallel.h"

namespace assay::job {
namespace {

/// Far beyond what anyone measures, and still few enough to start and to end.
constexpr int64_t kMaxRanksPerThread = 32;

template <typename Kind>
Result<Plan> AsPlan(Result<Kind> plan) {
  if (!plan.ok()) {
    return plan.status();
  }
  return Plan(*std::move(plan));
}

}  // namespace

const TrainingPlan& TrainingOf(const Plan& plan) {
  return std::visit([](const auto& kind) -> const TrainingPlan& { return kind; }, plan);
}

Status CheckMachinesFit(const TrainingPlan& plan) {
  if (plan.number_nodes <= 1 || plan.device != "cuda") {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format(
      "number_nodes is {}, but ranks are to start on this machine alone, whose GPUs are of one: leave it at "
      "1, take ranks on the CPU, or choose a launcher of several machines (--launcher)",
      plan.number_nodes));
}

Status CheckRanksFit(const Plan& plan) {
  const int64_t threads = UsableThreads();
  const int64_t most = kMaxRanksPerThread * threads;
  const int64_t ranks = TrainingOf(plan).number_ranks;
  const int64_t nodes = TrainingOf(plan).number_nodes;
  if (nodes < 1 || ranks % nodes != 0) {
    return Status::InvalidArgument(
        fmt::format("{} ranks do not make {} groups of equally many: take a multiple of number_nodes", ranks, nodes));
  }
  ASSAY_RETURN_IF_ERROR(CheckMachinesFit(TrainingOf(plan)));
  if (ranks <= most) {
    return Status::Ok();
  }
  return Status::InvalidArgument(
      fmt::format("{} ranks are too many for the {} CPU threads this process may use: at most {}, which is {} a thread",
                  ranks, threads, most, kMaxRanksPerThread));
}

nlohmann::json ToJson(const Plan& plan) {
  return std::visit([](const auto& kind) { return ToJson(kind); }, plan);
}

Result<Plan> PlanFromJson(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("kind")) {
    return AsPlan(TunePlanFromJson(json));
  }
  const nlohmann::json& kind = json["kind"];
  if (kind == "checkpoint") {
    return AsPlan(CheckpointPlanFromJson(json));
  }
  if (kind == "connector") {
    return AsPlan(ConnectorPlanFromJson(json));
  }
  if (kind == GeneratePlan::kKind) {
    return AsPlan(ModelPlanFromJson<GeneratePlan>(json));
  }
  return kind == MergePlan::kKind ? AsPlan(ModelPlanFromJson<MergePlan>(json)) : AsPlan(VitPlanFromJson(json));
}

}  // namespace assay::job
