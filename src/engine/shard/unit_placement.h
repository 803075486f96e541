// Which units keep their data where.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/shard/shard_context.h"

namespace assay::engine {

/// By the fractions of the policy: the first units keep their weights gathered, their optimiser states or weights in
/// host memory, or may move their states there, until the fraction of all `unit_elements` is reached as nearly as whole
/// units allow. Weights that stay gathered are not offloaded.
std::vector<UnitPlacement> place_units(const ShardPolicy& policy, const std::vector<int64_t>& unit_elements);

}  // namespace assay::engine
