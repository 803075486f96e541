#include "experiment/training_ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/property_spec.h"
#include "measure/nvml.h"

namespace assay::experiment {

PropertySpec NumberOfRanks() {
  return As({.label = "ranks", .role = Role::kMachine},
            Own(Optional("number_ranks", Integers(1, kMaxRanks), int64_t{1},
                         "worker processes; with GPUs one for each, which is also what 1 stands for there")));
}

int64_t RanksOf(const space::Entity& point) {
  const int64_t ranks = IntegerOf(point, "number_ranks");
  return ranks == 1 ? std::max<int64_t>(1, IntegerOf(point, "number_gpus")) : ranks;
}

std::string RanksAgainstGpus(const space::Entity& point) {
  const int64_t gpus = IntegerOf(point, "number_gpus");
  const int64_t ranks = RanksOf(point);
  return gpus == 0 || ranks == gpus
             ? ""
             : fmt::format("number_ranks is {} and number_gpus {}: each GPU has one rank, so leave number_ranks out",
                           ranks, gpus);
}

Status CheckVisibleGpus(int64_t gpus, const PlanContext& context) {
  if (gpus == 0 || !context.runs_here()) {
    return Status::Ok();
  }
  const auto nvml = measure::Nvml::Load();
  const size_t visible = nvml == nullptr ? 0 : measure::VisibleGpus(nvml->gpus()).size();
  if (visible < static_cast<size_t>(gpus)) {
    return Status::NotFound(fmt::format(
        "number_gpus is {}, but this machine shows {} (check nvidia-smi and CUDA_VISIBLE_DEVICES, or choose 0 and "
        "number_ranks)",
        gpus, visible));
  }
  return Status::Ok();
}

Status CheckRanksFitHere(const job::Plan& plan, const PlanContext& context) {
  if (!context.runs_here()) {
    return Status::Ok();
  }
  const Status status = job::CheckRanksFit(plan);
  return status.ok() ? status : Status::FailedPrecondition(status.message());
}

int64_t ThreadsOfRank(int64_t threads, int64_t ranks, const PlanContext& context) {
  if (threads == 0 && context.threads_per_rank > 0) {
    return context.threads_per_rank;
  }
  if (threads > 0 || context.threads == 0) {
    return threads;
  }
  return std::max<int64_t>(1, context.threads / ranks);
}

}  // namespace assay::experiment
