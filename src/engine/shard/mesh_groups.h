// The groups that the sharding engine works over, out of a mesh of ranks.
#pragma once

#include "engine/comm/mesh.h"
#include "engine/shard/policy.h"
#include "engine/shard/shard_context.h"

namespace assay::engine {

/// This rank's groups by the table at ShardGroups; all ranks call it together. The mesh keeps them. Throws
/// std::invalid_argument with one line for a mesh that has an axis which `split` has no use for.
ShardGroups groups_of_mesh(Mesh& mesh, SplitOver split);

}  // namespace assay::engine
