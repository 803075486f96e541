#include "engine/shard/unit_placement.h"

#include <numeric>

namespace assay::engine {

std::vector<UnitPlacement> place_units(const ShardPolicy& policy, const std::vector<int64_t>& unit_elements) {
  const auto total = static_cast<double>(std::accumulate(unit_elements.begin(), unit_elements.end(), int64_t{0}));
  std::vector<UnitPlacement> placements;
  double before = 0;
  for (const int64_t elements : unit_elements) {
    const double middle = before + static_cast<double>(elements) / 2;
    const auto within = [&](double fraction) { return middle <= fraction * total; };
    const bool keep = !policy.keep_weights && within(policy.keep_gathered_frac);
    placements.push_back({.keep_gathered = keep,
                          .offload_optimizer = within(policy.offload_optim_frac),
                          .offload_parameters = !policy.keep_weights && !keep && within(policy.offload_param_frac),
                          .optimizer_yields = within(policy.yielding_optim_frac)});
    before += static_cast<double>(elements);
  }
  return placements;
}

}  // namespace assay::engine
