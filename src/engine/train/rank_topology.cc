#include "engine/train/rank_topology.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

namespace assay::engine {
namespace {

int64_t of(const MemoryByKind& bytes, MemoryKind kind) {
  return bytes[static_cast<size_t>(kind)];
}

int64_t elements_of(const ParameterUnit& unit) {
  return std::accumulate(unit.parameters.begin(), unit.parameters.end(), int64_t{0},
                         [](int64_t sum, const ParameterRef& parameter) { return sum + parameter.tensor->numel(); });
}

}  // namespace

job::Topology topology_of(const StrategyGroups& groups, const std::vector<ParameterUnit>& units) {
  int64_t largest = 0;
  for (const ParameterUnit& unit : units) {
    largest = std::max(largest, elements_of(unit));
  }
  const std::string_view backend = groups.world().backend();
  return {.world_size = groups.world().size(),
          .data_ranks = groups.data_ranks(),
          .shard_ranks = groups.shard_ranks(),
          .tensor_ranks = groups.tensor_ranks(),
          .pipeline_stages = groups.stages(),
          .backend = std::string(backend == "shm" || backend == "self" ? "shared_memory" : backend),
          .units = static_cast<int64_t>(units.size()),
          .largest_unit_parameters = largest};
}

int64_t total_bytes(const MemoryByKind& bytes, bool on_cpu) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}) - (on_cpu ? 0 : of(bytes, MemoryKind::kOffloaded));
}

job::MemoryLedger ledger_event(const MemoryByKind& bytes, int64_t activations, int64_t peak, bool on_cpu) {
  job::MemoryLedger event;
  event.parameters_bytes = of(bytes, MemoryKind::kParameters);
  event.gradients_bytes = of(bytes, MemoryKind::kGradients);
  event.master_bytes = of(bytes, MemoryKind::kMaster);
  event.moments_bytes = of(bytes, MemoryKind::kMoments);
  event.buckets_bytes = of(bytes, MemoryKind::kCommunication);
  event.host_bytes = of(bytes, MemoryKind::kOffloaded);
  const int64_t rest = std::max<int64_t>(0, peak - total_bytes(bytes, on_cpu));
  event.activations_bytes = std::min(activations, rest);
  event.temporaries_bytes = rest - event.activations_bytes;
  event.peak_bytes = peak;
  return event;
}

}  // namespace assay::engine
