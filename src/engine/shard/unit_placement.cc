#include "engine/shard/unit_placement.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace assay::engine {
namespace {

double elements_of(const StoredUnit& unit) {
  const int64_t elements =
      std::transform_reduce(unit.parameters.begin(), unit.parameters.end(), int64_t{0}, std::plus<>(),
                            [](const ParameterRef& p) { return p.tensor->numel(); });
  return static_cast<double>(std::max(unit.elements, elements));
}

}  // namespace

std::vector<UnitPlacement> place_units(const ShardPolicy& policy, const std::vector<StoredUnit>& units) {
  const double total = std::transform_reduce(units.begin(), units.end(), 0.0, std::plus<>(), elements_of);
  std::vector<UnitPlacement> placements;
  double before = 0;
  for (const StoredUnit& unit : units) {
    if (unit.keep_gathered) {
      placements.push_back({.keep_gathered = true});
      continue;
    }
    const double after = before + elements_of(unit);
    const auto reaches = [&](double fraction) { return before < fraction * total; };
    const bool keep = !policy.keep_weights && after <= policy.keep_gathered_frac * total;
    const bool yields = policy.memory_cap_bytes > 0 && reaches(policy.yielding_optim_frac);
    placements.push_back({.keep_gathered = keep,
                          .offload_optimizer = yields || reaches(policy.offload_optim_frac),
                          .offload_parameters = !policy.keep_weights && !keep && reaches(policy.offload_param_frac),
                          .optimizer_yields = yields});
    before = after;
  }
  return placements;
}

}  // namespace assay::engine
