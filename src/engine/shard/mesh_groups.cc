#include "engine/shard/mesh_groups.h"

#include <stdexcept>

namespace assay::engine {
namespace {

void check_axes(const MeshShape& shape, SplitOver split) {
  if (split == SplitOver::kNobody && shape.shard > 1) {
    throw std::invalid_argument("this strategy splits nothing: the shard axis of its mesh must be 1");
  }
  if (split == SplitOver::kAll && shape.data > 1) {
    throw std::invalid_argument("this strategy splits over all ranks: the data axis of its mesh must be 1");
  }
}

}  // namespace

ShardGroups groups_of_mesh(Mesh& mesh, SplitOver split) {
  check_axes(mesh.shape(), split);
  ShardGroups groups;
  groups.model = mesh.group({MeshAxis::kPipeline, MeshAxis::kTensor});
  groups.tensor = mesh.group({MeshAxis::kTensor});
  if (split == SplitOver::kNobody) {
    groups.replicate = mesh.group({MeshAxis::kData, MeshAxis::kExpert});
  } else {
    groups.shard = mesh.group({MeshAxis::kShard, MeshAxis::kExpert});
    groups.replicate = mesh.group({MeshAxis::kData});
  }
  groups.experts = mesh.group({MeshAxis::kExpert});
  if (groups.experts != nullptr) {
    groups.expert_shard = mesh.group({MeshAxis::kShard});
    groups.expert_replicate = mesh.group({MeshAxis::kData});
  }
  return groups;
}

}  // namespace assay::engine
