#include <fmt/format.h>

#include <algorithm>

#include "experiment/fine_tuning/fine_tuning.h"
#include "experiment/property_spec.h"
#include "experiment/training_ranks.h"

namespace assay::experiment {
namespace {

std::string BatchOverRanks(const space::Entity& point) {
  const int64_t batch_size = IntegerOf(point, "batch_size");
  const int64_t ranks = RanksOf(point);
  const bool on_gpus = IntegerOf(point, "number_gpus") > 0;
  return batch_size % ranks == 0
             ? ""
             : fmt::format("batch_size {} is not a multiple of {} {}: the {} could not share it evenly", batch_size,
                           on_gpus ? "number_gpus" : "number_ranks", ranks, on_gpus ? "GPUs" : "ranks");
}

std::string GpusOverNodes(const space::Entity& point) {
  const int64_t gpus = IntegerOf(point, "number_gpus");
  const int64_t nodes = IntegerOf(point, "number_nodes");
  return gpus % nodes == 0 ? ""
                           : fmt::format(
                                 "number_gpus {} is not a multiple of number_nodes {}: the nodes could not have "
                                 "equally many",
                                 gpus, nodes);
}

std::string NamedGpu(const space::Entity& point) {
  return IntegerOf(point, "number_gpus") == 0 || !TextOf(point, "gpu_model").empty()
             ? ""
             : "number_gpus is above 0, but gpu_model is None: name the GPU";
}

std::string ExpertsOverGpus(const space::Entity& point) {
  const int64_t ranks = IntegerOf(point, "fast_moe");
  const int64_t gpus = IntegerOf(point, "number_gpus");
  return ranks == 0 || gpus % ranks == 0
             ? ""
             : fmt::format("number_gpus {} is not a multiple of fast_moe {}: the ranks could not share the experts",
                           gpus, ranks);
}

std::string ExpertsInVersion(const space::Entity& point) {
  const std::string version = TextOf(point, "fms_hf_tuning_version");
  // Versions of the domain compare as texts.
  return IntegerOf(point, "fast_moe") == 0 || version >= "2.4.0"
             ? ""
             : fmt::format("fast_moe needs fms_hf_tuning_version 2.4.0 or later, not {}", version);
}

using Rule = std::string (*)(const space::Entity& point);
constexpr Rule kRules[] = {&BatchOverRanks,  &GpusOverNodes,    &NamedGpu,
                           &ExpertsOverGpus, &ExpertsInVersion, &CheckSpread};

}  // namespace

Verdict CheckFineTuningRules(const space::Entity& point) {
  for (const Rule rule : kRules) {
    if (std::string reason = rule(point); !reason.empty()) {
      return {std::move(reason)};
    }
  }
  return {};
}

}  // namespace assay::experiment
