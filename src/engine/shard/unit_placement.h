// Which stored units keep their data where.
#pragma once

#include <vector>

#include "engine/shard/shard_context.h"
#include "engine/shard/stored_units.h"

namespace assay::engine {

/// By the fractions of the policy, of all elements: from the first unit on, optimiser states and weights are kept in
/// host memory, or states may move there, until the fraction is reached; weights stay gathered as long as they are
/// within theirs (ColossalAI, StaticPlacementPolicy). Weights that stay gathered are not offloaded, and of a chunk that
/// is small nothing is.
std::vector<UnitPlacement> place_units(const ShardPolicy& policy, const std::vector<StoredUnit>& units);

}  // namespace assay::engine
